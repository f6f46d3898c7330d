/** Vega draws here, since it lives under `bench/package.json`. */

import { parse, View } from 'vega';

/** The SVG of a Vega specification. */
export async function toSvg(specification) {
  const view = new View(parse(specification), { renderer: 'none' });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}

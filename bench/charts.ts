/** Charts as Vega specifications. Puressh is drawn in full colour and unbroken, the others paler and dashed. */

import { show } from './table.ts';

/** A line: points from left to right. */
export interface Series {
  readonly name: string;
  readonly isOwn: boolean;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface LineChart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
  /** How x and y grow; default linear. */
  readonly xScale?: 'linear' | 'log';
  readonly yScale?: 'linear' | 'log';
  /** What x is called at its values, by value. */
  readonly ticks?: Readonly<Record<number, string>>;
}

export interface Bar {
  readonly name: string;
  readonly isOwn: boolean;
  readonly value: number;
}

export interface BarChart {
  readonly title: string;
  readonly x: string;
  readonly bars: readonly Bar[];
}

/** What Vega takes. */
export type Specification = Readonly<Record<string, unknown>>;

const WIDTH = 560;
const HEIGHT = 300;
const BAR_HEIGHT = 20;
const OWN = ['#0b5fa5', '#1b9e77', '#d7301f', '#6a3d9a', '#e08214', '#444444', '#c51b7d', '#35978f', '#8c510a'];
const OTHERS = ['#8c8c8c', '#c7a76c', '#8fb3cf', '#b59ac7', '#d99a9a', '#94bf94', '#bdbdbd', '#a6bddb'];

const FRAME = {
  $schema: 'https://vega.github.io/schema/vega/v6.json',
  background: 'white',
  padding: 8,
  config: {
    text: { font: 'sans-serif' },
    axis: { labelFont: 'sans-serif', titleFont: 'sans-serif', gridColor: '#eee' },
  },
} as const;

const title = (text: string): Specification => ({
  text,
  anchor: 'start',
  font: 'sans-serif',
  fontSize: 13,
  offset: 10,
});

/** A scale that gives each series its colour. */
function colours(series: readonly Pick<Series, 'name' | 'isOwn'>[]): Specification {
  let [own, others] = [0, 0];
  const range = series.map(({ isOwn }) => (isOwn ? OWN[own++ % OWN.length] : OTHERS[others++ % OTHERS.length]));
  return { name: 'colour', type: 'ordinal', domain: series.map(({ name }) => name), range };
}

export function lineChart({
  title: text,
  x,
  y,
  series,
  xScale = 'linear',
  yScale = 'linear',
  ticks,
}: LineChart): Specification {
  const names = series.map(({ name }) => name);
  const values = series.flatMap(({ name, points }) => points.map((point) => ({ name, ...point })));
  const dash = {
    name: 'dash',
    type: 'ordinal',
    domain: names,
    range: series.map(({ isOwn }) => (isOwn ? [1, 0] : [4, 3])),
  };
  const at = { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' } };
  const labels = ticks && {
    values: Object.keys(ticks).map(Number),
    encode: { labels: { update: { text: { signal: `${JSON.stringify(ticks)}[datum.value]` } } } },
  };
  return {
    ...FRAME,
    ...{ title: title(text), width: WIDTH, height: HEIGHT },
    data: [{ name: 'table', values }],
    scales: [
      {
        name: 'x',
        type: xScale,
        domain: { data: 'table', field: 'x' },
        range: 'width',
        ...(xScale === 'log' ? { base: 2 } : {}),
      },
      {
        name: 'y',
        type: yScale,
        domain: { data: 'table', field: 'y' },
        range: 'height',
        nice: true,
        zero: yScale === 'linear',
      },
      colours(series),
      dash,
    ],
    axes: [
      { orient: 'bottom', scale: 'x', title: x, ...labels },
      { orient: 'left', scale: 'y', title: y, grid: true, format: '.5~g' },
    ],
    legends: [{ stroke: 'colour', strokeDash: 'dash', symbolType: 'stroke', orient: 'right', labelLimit: 240 }],
    marks: [
      {
        type: 'group',
        from: { facet: { name: 'line', data: 'table', groupby: 'name' } },
        marks: [
          {
            type: 'line',
            from: { data: 'line' },
            encode: {
              enter: {
                ...at,
                stroke: { scale: 'colour', field: 'name' },
                strokeDash: { scale: 'dash', field: 'name' },
                strokeWidth: { value: 2 },
              },
            },
          },
          {
            type: 'symbol',
            from: { data: 'line' },
            encode: { enter: { ...at, fill: { scale: 'colour', field: 'name' }, size: { value: 22 } } },
          },
        ],
      },
    ],
  };
}

export function barChart({ title: text, x, bars }: BarChart): Specification {
  const values = bars.map(({ name, isOwn, value }) => ({ name, isOwn, value, label: show(value) }));
  const middle = { scale: 'y', field: 'name', band: 0.5 };
  return {
    ...FRAME,
    ...{ title: title(text), width: WIDTH, height: BAR_HEIGHT * bars.length },
    data: [{ name: 'table', values }],
    scales: [
      { name: 'x', type: 'linear', domain: { data: 'table', field: 'value' }, range: 'width', zero: true, nice: true },
      { name: 'y', type: 'band', domain: bars.map(({ name }) => name), range: 'height', padding: 0.2 },
    ],
    axes: [
      { orient: 'bottom', scale: 'x', title: x, grid: true, format: '.5~g' },
      { orient: 'left', scale: 'y', labelLimit: 240, domain: false, ticks: false },
    ],
    marks: [
      {
        type: 'rect',
        from: { data: 'table' },
        encode: {
          enter: {
            ...{ x: { scale: 'x', value: 0 }, x2: { scale: 'x', field: 'value' } },
            ...{ y: { scale: 'y', field: 'name' }, height: { scale: 'y', band: 1 } },
            fill: [{ test: 'datum.isOwn', value: OWN[0] }, { value: OTHERS[0] }],
          },
        },
      },
      {
        type: 'text',
        from: { data: 'table' },
        encode: {
          enter: {
            ...{ x: { scale: 'x', field: 'value', offset: 4 }, y: middle, baseline: { value: 'middle' } },
            ...{ text: { field: 'label' }, fill: { value: '#333' }, fontSize: { value: 10 } },
          },
        },
      },
    ],
  };
}

/**
 * What is printed about a test file that failed. Logs get cut, from either end or in the middle; so what failed and why
 * comes first and in few lines, and once more, in fewer, in the list at the very end. The output of the file stands between.
 */

/** Lines of an error, and of output where no test says what is wrong: beginning and end. */
const ERROR = { head: 16, tail: 8 };
const ERROR_AGAIN = { head: 12, tail: 4 };
const OUTPUT = { head: 100, tail: 300 };

/** Failed tests of one file that are told one by one: when most of a file fails, the first few say it all. */
const TESTS = 10;

/** A longer line, such as a diff of long strings, is cut. */
const COLUMNS = 400;

function indent(text, mark) {
  return text.replace(/^/gm, mark);
}

/** `text` without its middle where it has more lines than `head` and `tail` together. */
export function shortened(text, { head, tail }) {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS)}…` : line));
  const left = lines.length - head - tail;
  if (left <= 1) return lines.join('\n');
  return [...lines.slice(0, head), `[… ${left} lines …]`, ...lines.slice(lines.length - tail)].join('\n');
}

/** Each failed test with its error; and how the output ended where an error is not known, or no test failed at all. */
function whatFailed({ failures, output }, size) {
  const told = failures.slice(0, TESTS).map(({ name, error }) => {
    return error === '' ? `✗ ${name}` : `✗ ${name}\n${indent(shortened(error, size), '    ')}`;
  });
  if (failures.length > TESTS) told.push(`and ${failures.length - TESTS} more`);
  if (told.length === 0 || failures.some(({ error }) => error === '')) {
    const end = shortened(output, { head: 0, tail: size.head + size.tail });
    told.push(end === '' ? 'it printed nothing' : `its output ended so:\n${indent(end, '    ')}`);
  }
  return told.join('\n');
}

/** About a file that failed, where it is told first: what failed and why, then what it printed. */
export function failureText(result) {
  const output = shortened(result.output, OUTPUT);
  const what = indent(whatFailed(result, ERROR), '    ');
  return output === '' ? what : `${what}\n    all that it printed:\n${indent(output, '    │ ')}`;
}

/** About the same file once more, for the list at the end. */
export function failureAgain(result) {
  return indent(whatFailed(result, ERROR_AGAIN), '      ');
}

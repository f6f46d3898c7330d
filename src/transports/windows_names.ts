/** Which texts are names of files on Windows and nothing else ("Naming Files, Paths, and Namespaces" of its documentation). */

/** Separators, drives and streams (`:`), wildcards, and what no name may have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are not allowed in names
const FORBIDDEN = /[\u0000-\u001f<>:"/\\|?*]/;

/** Devices are found in every directory, whatever extension they are given. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(?:\.|$)/i;

/** Windows takes dots and spaces at the end away, so that another name would be meant. */
const TRAILING = /[. ]$/;

export function isWindowsName(text: string): boolean {
  return text !== '' && !FORBIDDEN.test(text) && !DEVICE.test(text) && !TRAILING.test(text);
}

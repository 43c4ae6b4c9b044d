/** Whether these arguments are none: nothing, or an object with nothing in it, which may stand for what is still to come (qC13). */
export function isEmptyInput(text: string): boolean {
  return /^\s*(\{\s*\})?\s*$/.test(text)
}

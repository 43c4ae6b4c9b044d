/** Whether the arguments are empty or an empty object, which may be a placeholder for arguments that follow (qC13). */
export function isEmptyInput(text: string): boolean {
  return /^\s*(\{\s*\})?\s*$/.test(text)
}

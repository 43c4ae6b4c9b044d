/** What the name of an event tells, on any wire. */

/** Whether no wire has an event of this name. */
export function isUnknown(name: string | undefined): boolean {
  return !!name && !/^(message|response|content_block|chat|completion|chunk|data|delta)/i.test(name) && !isFailure(name)
}

/** Whether an event of this name is an error: `error`, or one of AWS such as `throttlingException`. */
export function isFailure(name: string | undefined): boolean {
  return /(error|exception)$/i.test(name ?? '')
}

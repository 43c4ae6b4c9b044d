/** Whether members can be read of this: of what comes from outside nothing is known. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

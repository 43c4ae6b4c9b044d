/** Whether members can be read from this value; for values from outside. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export function hasMembers(value: object): boolean {
  return Object.keys(value).length > 0
}

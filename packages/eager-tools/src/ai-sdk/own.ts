/** A member of an object that is its own. A model may have chosen the name, so inherited members do not count. */
export function own<Of extends object>(of: Of | undefined, name: string): Of[keyof Of] | undefined
export function own(of: unknown, name: string): unknown
export function own(of: unknown, name: string): unknown {
  const members: Readonly<Record<string, unknown>> = Object(of)
  return Object.hasOwn(members, name) ? members[name] : undefined
}

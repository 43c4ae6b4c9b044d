type Given<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> }

/** The members that have a value: what is `undefined` or `null` is left out. */
export function defined<Members extends object>(members: Members): Given<Members> {
  const given: Given<Members> = {}
  for (const name in members) {
    const value = members[name]
    if (value !== undefined && value !== null) given[name] = value
  }
  return given
}

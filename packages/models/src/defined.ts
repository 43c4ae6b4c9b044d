type Given<Members> = { [Name in keyof Members]?: NonNullable<Members[Name]> }

/** Removes members that are `undefined` or `null`. */
export function defined<Members extends object>(members: Members): Given<Members> {
  const given: Given<Members> = {}
  for (const name in members) {
    const value = members[name]
    if (value !== undefined && value !== null) given[name] = value
  }
  return given
}

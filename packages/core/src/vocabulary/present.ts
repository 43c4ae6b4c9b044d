/** Removes the members of an object that are `undefined`. */

/** The same type, in which members that may be `undefined` are optional. */
type Present<Given> = {
  readonly [Name in keyof Given as undefined extends Given[Name] ? never : Name]: Given[Name]
} & {
  readonly [Name in keyof Given as undefined extends Given[Name] ? Name : never]?: Exclude<Given[Name], undefined>
}

export function present<Given extends object>(given: Given): Present<Given>
export function present(given: Readonly<Record<string, unknown>>): object {
  const some: Record<string, unknown> = {}
  for (const name in given) if (given[name] !== undefined) some[name] = given[name]
  return some
}

// Imports the entries of its arguments one after another, and fails if one exports nothing, or if its import changed more than the list of loaded
// modules: globals, built-in prototypes, the environment, listeners of the process, or open handles. The library of the first argument, unless
// that is empty, is imported before them: its changes do not count.

const BUILT_IN = [
  Object,
  Function,
  Array,
  Promise,
  String,
  Number,
  RegExp,
  Map,
  Set,
  Error,
  AbortSignal,
  EventTarget,
  ReadableStream,
  Response,
]

const properties = (of) =>
  Object.entries(Object.getOwnPropertyDescriptors(of)).map(([name, { value, get }]) => [name, value ?? get])

const state = () =>
  new Map([
    ...Reflect.ownKeys(globalThis).map((name) => [
      `global ${String(name)}`,
      Object.getOwnPropertyDescriptor(globalThis, name)?.value,
    ]),
    ...BUILT_IN.flatMap((type) =>
      properties(type.prototype).map(([name, value]) => [`${type.name}.prototype.${name}`, value]),
    ),
    ...Object.entries(process.env).map(([name, value]) => [`environment ${name}`, value]),
    ...process.eventNames().map((name) => [`listeners of ${String(name)}`, process.listenerCount(name)]),
    ['the handles that keep the process alive', process.getActiveResourcesInfo().length],
  ])

const [, , library, ...entries] = process.argv
if (library) await import(library)
let before = state()
for (const entry of entries) {
  const { length } = Object.keys(await import(entry))
  if (length === 0) throw new Error(`${entry} exports nothing`)
  const after = state()
  const changed = [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => !Object.is(before.get(name), after.get(name)))
    // msw, which the harness uses, keeps its mocks here.
    .filter((name) => !name.startsWith('global __MSW_'))
  if (changed.length > 0) throw new Error(`the import of ${entry} changed: ${changed.join(', ')}`)
  before = after
}

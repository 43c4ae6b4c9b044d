// Imports the entry of its first argument, and fails if it exports nothing, or if the import changed more than the list of loaded modules: globals, built-in prototypes,
// the environment, listeners of the process, or open handles. A library of its second argument is imported first: its changes
// do not count.

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

const [, , entry, library] = process.argv
if (library) await import(library)
const before = state()
const { length } = Object.keys(await import(entry))
if (length === 0) throw new Error('exports nothing')
const after = state()
const changed = [...new Set([...before.keys(), ...after.keys()])]
  .filter((name) => !Object.is(before.get(name), after.get(name)))
  // msw, which the harness uses, keeps its mocks here.
  .filter((name) => !name.startsWith('global __MSW_'))
if (changed.length > 0) throw new Error(`its import changed: ${changed.join(', ')}`)

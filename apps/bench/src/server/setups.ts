/** The chat servers that are compared: threads over each store, and the AI SDK. */

export interface SetUp {
  readonly title: string
  readonly library: 'meanwhile' | 'ai'
  /** Where the conversations are. Absent: nowhere. */
  readonly store?: 'memory' | 'sqlite' | 'postgres'
}

export const SETUPS = {
  memory: { title: 'threads in memory', library: 'meanwhile', store: 'memory' },
  sqlite: { title: 'threads in SQLite', library: 'meanwhile', store: 'sqlite' },
  postgres: { title: 'threads in PostgreSQL', library: 'meanwhile', store: 'postgres' },
  ai: { title: 'AI SDK, nothing stored', library: 'ai' },
  'ai-postgres': { title: 'AI SDK, two rows a turn', library: 'ai', store: 'postgres' },
} satisfies Readonly<Record<string, SetUp>>

export type SetUpName = keyof typeof SETUPS

export const SETUP_NAMES = Object.keys(SETUPS) as readonly SetUpName[]

export function setUpOf(name: SetUpName): SetUp {
  return SETUPS[name]
}

export function isSetUp(name: string): name is SetUpName {
  return Object.hasOwn(SETUPS, name)
}

export function isOurs(name: SetUpName): boolean {
  return setUpOf(name).library === 'meanwhile'
}

/** Those whose threads another process can read, too. */
export function isShared(name: SetUpName): boolean {
  return isOurs(name) && setUpOf(name).store !== 'memory'
}

/** Those that read the conversation of a turn from a store. */
export function hasHistory(name: SetUpName): boolean {
  return setUpOf(name).store !== undefined
}

/** Defines what every checkpoint store must do, as test cases for any test runner. */

import {
  CheckpointConflictError,
  CheckpointCorruptError,
  type CheckpointStore,
  type StoredCheckpoint,
} from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'

/** An empty store for one test case, and functions that only its author can write. */
export interface StoreUnderTest {
  /** The store. */
  readonly store: CheckpointStore
  /** A second store with the same data, as in another process. Absent if other processes have no access. */
  readonly elsewhere?: CheckpointStore
  /** Reads and writes the stored bytes of an id, to damage them. Absent if nothing can damage them. */
  readonly bytes?: {
    read(id: string): string | Promise<string>
    write(id: string, bytes: string): void | Promise<void>
  }
  close?(): void | Promise<void>
}

/** A test that every checkpoint store must pass. */
export interface StoreCase {
  /** The title of the test. */
  readonly name: string
  /** Rejects if the store fails the test. */
  run(): Promise<void>
}

/**
 * Returns the tests of {@link CheckpointStore}: `for (const { name, run } of storeContract(open)) test(name, run)`. Each test opens and
 * closes a store. One of them waits for a tenth of a second with a real timer.
 */
export function storeContract(open: () => StoreUnderTest | Promise<StoreUnderTest>): readonly StoreCase[] {
  return cases.map(([name, check]) => ({
    name,
    async run() {
      const opened = await open()
      try {
        await check(opened)
      } finally {
        await opened.close?.()
      }
    },
  }))
}

/** The store violates the contract. */
class StoreContractError extends Error {
  override readonly name = 'StoreContractError'
}

type Check = (opened: StoreUnderTest) => Promise<void>

const cases: readonly (readonly [string, Check])[] = [
  [
    'a saved checkpoint can be loaded, and an unknown id loads nothing (L14)',
    async ({ store, elsewhere = store }) => {
      same(await store.load('run'), undefined, 'what an empty store loads')
      await store.save('run', rich, 0)
      same(await store.load('run'), rich, 'what is loaded')
      same(await elsewhere.load('run'), rich, 'what is loaded elsewhere')
      same(await store.load('another'), undefined, 'what another id loads')
      await elsewhere.save('run', revision(2), 1)
      same(await store.load('run'), revision(2), 'what is loaded after a second save')
    },
  ],
  [
    'a save over an outdated revision is a conflict and changes nothing (L14)',
    async ({ store, elsewhere = store }) => {
      await conflict(store.save('run', revision(2), 1), 1, undefined)
      same(await store.load('run'), undefined, 'what is stored after a save over nothing')
      await store.save('run', revision(1), 0)
      await elsewhere.save('run', revision(2), 1)
      await conflict(store.save('run', revision(1, 'late'), 0), 0, 2)
      await conflict(store.save('run', revision(2, 'late'), 1), 1, 2)
      await conflict(store.save('run', revision(4, 'early'), 3), 3, 2)
      same(await store.load('run'), revision(2), 'what is stored after the conflicts')
      await store.save('run', revision(3), 2)
      same(await elsewhere.load('run'), revision(3), 'what is stored after a save over the right one')
    },
  ],
  [
    'exactly one of several parallel saves over one revision succeeds (L17)',
    async ({ store, elsewhere = store }) => {
      for (let over = 0; over < 5; over++) {
        const savers = Array.from({ length: 8 }, (_, saver) => revision(over + 1, `saver ${saver}`))
        const outcomes = await Promise.allSettled(
          savers.map((checkpoint, saver) => (saver % 2 ? elsewhere : store).save('run', checkpoint, over)),
        )
        const won = savers.filter((_, saver) => outcomes[saver]?.status === 'fulfilled')
        same(won.length, 1, `how many won over revision ${over}`)
        same(await store.load('run'), won[0], `what is stored of those over revision ${over}`)
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') isConflict(outcome.reason, over)
        }
      }
    },
  ],
  [
    'a loaded checkpoint is a copy, and a save stores the checkpoint as it was at the call (L17)',
    async ({ store }) => {
      const given = { ...revision(1), messages: ['as given'] }
      const saving = store.save('run', given, 0)
      given.messages.push('changed while it is saved')
      await saving
      given.messages.push('changed afterwards')
      const saved = { ...revision(1), messages: ['as given'] }
      const loaded = await store.load('run')
      same(loaded, saved, 'what is stored')
      if (typeof loaded === 'object' && loaded) Object.assign(loaded, { revision: 7, messages: [] })
      same(await store.load('run'), saved, 'what is stored after the loaded one was changed')
      await store.save('run', revision(2), 1)
    },
  ],
  [
    'a delete removes the checkpoint, and a delete of an unknown id succeeds (L14)',
    async ({ store, elsewhere = store }) => {
      await store.delete('run')
      await store.save('run', revision(1), 0)
      await store.save('another', revision(1), 0)
      await elsewhere.delete('run')
      await store.delete('run')
      same(await store.load('run'), undefined, 'what is loaded after it was deleted')
      same(await store.load('another'), revision(1), 'what is loaded of another')
      await conflict(store.save('run', revision(2), 1), 1, undefined)
      await store.save('run', revision(1, 'again'), 0)
      same(await store.load('run'), revision(1, 'again'), 'what is stored again')
    },
  ],
  [
    'a prune deletes the checkpoints whose last save was before a time, and returns their number (L14)',
    async ({ store, elsewhere = store }) => {
      same(await store.prune({ olderThan: Date.now() + 60_000 }), 0, 'how many are pruned of none')
      for (const id of ['old', 'older', 'saved again']) await store.save(id, revision(1), 0)
      await pause(50)
      const between = new Date()
      await pause(50)
      await store.save('saved again', revision(2), 1)
      await store.save('new', revision(1), 0)
      same(await store.prune({ olderThan: 0 }), 0, 'how many are older than 1970')
      same(await elsewhere.prune({ olderThan: between }), 2, 'how many were saved last before the time')
      same(await store.load('old'), undefined, 'what is loaded of a pruned one')
      same(await store.load('older'), undefined, 'what is loaded of another pruned one')
      same(await store.load('saved again'), revision(2), 'what was saved again since')
      same(await store.load('new'), revision(1), 'what was saved since')
      await store.save('old', revision(1, 'again'), 0)
      same(await store.prune({ olderThan: Date.now() + 60_000 }), 3, 'how many there were in the end')
    },
  ],
  [
    'any string is an id, and different strings are different ids (L17)',
    async ({ store }) => {
      const ids = oddIds()
      for (const [index, id] of ids.entries()) await store.save(id, revision(1, `id ${index}`), 0)
      for (const [index, id] of ids.entries()) {
        same(await store.load(id), revision(1, `id ${index}`), `what is loaded of ${JSON.stringify(id).slice(0, 80)}`)
      }
      for (const id of ids.filter((_, index) => index % 2 === 0)) await store.delete(id)
      same(await store.prune({ olderThan: Date.now() + 60_000 }), ids.length >> 1, 'how many were left')
    },
  ],
  [
    'damaged bytes are reported and kept (L17, L18)',
    async ({ store, elsewhere = store, bytes }) => {
      if (!bytes) return
      await store.save('run', revision(1), 0)
      const whole = await bytes.read('run')
      for (const damaged of [whole.slice(0, -1), whole.slice(0, whole.length >> 1), '', `${whole}}`, '\0\0\0\0']) {
        await bytes.write('run', damaged)
        for (const reader of [store, elsewhere]) {
          const error = await rejection(reader.load('run'))
          if (!(error instanceof CheckpointCorruptError)) {
            throw new StoreContractError(`loading damaged bytes: ${String(error)} instead of a CheckpointCorruptError`)
          }
          same(error.id, 'run', 'the id in the error')
        }
        await conflict(store.save('run', revision(1, 'new'), 0), 0)
        same(await bytes.read('run'), damaged, 'the bytes afterwards')
      }
      await bytes.write('run', whole)
      same(await store.load('run'), revision(1), 'what is loaded of the repaired bytes')
      await bytes.write('run', '')
      await store.delete('run')
      same(await store.load('run'), undefined, 'what is loaded once the damaged one was deleted')
    },
  ],
]

function revision(number: number, text = ''): StoredCheckpoint & { readonly text: string } {
  return { runId: 'run', revision: number, text }
}

/** JSON values that some stores damage. */
const rich: StoredCheckpoint = {
  ...revision(1, '\0 \ud800 \u2028 é \u{1f9ea} " \\ </script>'),
  ...JSON.parse(
    `{ "__proto__": { "constructor": null }, "": [[], {}, true, 1e300, 9007199254740991, -0.5], "big": "" }`,
  ),
  deep: JSON.parse('['.repeat(512) + ']'.repeat(512)),
  big: 'x'.repeat(1_000_000),
}

function oddIds(): readonly string[] {
  const paths = [
    '',
    ' ',
    '.',
    '..',
    '/',
    '\\',
    '../x',
    '..\\x',
    '/etc/passwd',
    'a/b',
    'a\\b',
    'a',
    'a.',
    'a ',
    '%2e%2e',
    '%',
  ]
  const marks = [
    '\0',
    'a\0',
    'a\0b',
    '\\u0000',
    '"',
    "'; DROP TABLE checkpoints; --",
    '*',
    '?',
    '~',
    '-',
    '_',
    '\n',
    '\u202e',
  ]
  const letters = ['A', '\u00e9', 'e\u0301', 'É', 'ß', 'SS', 'ss', 'İ', 'ı', '\u{1f9ea}', '\ud800', '\ud801', '\ufffd']
  const words = ['con', 'NUL', 'nul', '0', 'null', 'undefined', '__proto__', 'constructor', 'hasOwnProperty']
  const long = 'x'.repeat(10_000)
  return [...paths, ...marks, ...letters, ...words, long, `${long}y`, `${long}Y`, long.slice(1)]
}

function same(actual: unknown, expected: unknown, what: string): void {
  // A store may give the members of an object in another order.
  if (actual === undefined || expected === undefined ? actual === expected : sameInput(actual, expected)) return
  throw new StoreContractError(`${what}: ${text(actual)} instead of ${text(expected)}`)
}

function text(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? 'nothing'
}

async function conflict(
  saving: Promise<void>,
  expected: number,
  ...found: readonly (number | undefined)[]
): Promise<void> {
  const error = await rejection(saving)
  isConflict(error, expected)
  if (found.length > 0) same(error.found, found[0], 'the revision that the conflict found')
}

function isConflict(error: unknown, expected: number): asserts error is CheckpointConflictError {
  if (!(error instanceof CheckpointConflictError)) {
    throw new StoreContractError(
      `saving over an outdated revision: ${String(error)} instead of a CheckpointConflictError`,
    )
  }
  same([error.id, error.expected], ['run', expected], 'the id and the revision in the conflict')
}

async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  return undefined
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

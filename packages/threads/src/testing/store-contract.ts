/** The tests that every store of threads must pass, as cases for any test runner. */

import { CheckpointConflictError } from '@meanwhile/core'
import { storeContract } from '@meanwhile/stores/contract'
import { hashAfter, NO_MESSAGES } from '../stored-checkpoint.ts'
import type { Change, StoredEvent, ThreadRecord, ThreadStore, TurnRecord } from '../thread-store.ts'

/** An empty store for one case. */
export interface ThreadStoreUnderTest {
  /** The store. */
  readonly store: ThreadStore
  /** A second store over the same data, as another process opens it. Absent if the data belongs to one process. */
  readonly elsewhere?: ThreadStore
  close?(): void | Promise<void>
}

export interface ThreadStoreCase {
  /** A sentence that describes the expected behaviour. */
  readonly name: string
  /** Rejects if the store does not behave as the name says. */
  run(): Promise<void>
}

/**
 * Returns the tests of `ThreadStore` and of its checkpoints: `for (const { name, run } of threadStoreContract(open)) test(name, run)`. Each case
 * opens a store and closes it. One of the cases waits 100 ms, with real timers.
 */
export function threadStoreContract(
  open: () => ThreadStoreUnderTest | Promise<ThreadStoreUnderTest>,
): readonly ThreadStoreCase[] {
  const ofCheckpoints = storeContract(async () => {
    const { store, elsewhere, close } = await open()
    return {
      store: store.checkpoints,
      ...(elsewhere && { elsewhere: elsewhere.checkpoints }),
      close: async () => await close?.(),
    }
  })
  const ofThreads = cases.map(([name, check]) => ({
    name,
    async run() {
      const opened = await open()
      try {
        await check(opened.store, opened.elsewhere ?? opened.store)
      } finally {
        await opened.close?.()
      }
    },
  }))
  return [...ofThreads, ...ofCheckpoints.map(({ name, run }) => ({ name: `checkpoints: ${name}`, run }))]
}

/** A store does not behave as the contract says. */
class ThreadStoreContractError extends Error {
  override readonly name = 'ThreadStoreContractError'
}

type Check = (store: ThreadStore, elsewhere: ThreadStore) => Promise<void>

const cases: readonly (readonly [string, Check])[] = [
  [
    'a change can be read here and in another process, and a thread that does not exist has nothing',
    async (store, elsewhere) => {
      same(await store.load('t'), undefined, 'load from an empty store')
      same(await store.events('t'), [], 'the events of a thread that does not exist')
      same(await store.turns('t'), [], 'the turns of a thread that does not exist')
      const stored = { thread: threadOf('t', { seq: 2, turns: 1 }), turns: [turnOf(1, 'running', { startSeq: 1 })] }
      same(await write(store, 't', { ...stored, events: [eventOf(1), eventOf(2)] }), 'done', 'the result of change')
      for (const reader of [store, elsewhere]) {
        same(await reader.load('t'), stored, 'load')
        same(await reader.events('t'), [eventOf(1), eventOf(2)], 'the events')
        same(await reader.turns('t'), stored.turns, 'the turns')
        same(await reader.load('T'), undefined, 'another thread')
      }
    },
  ],
  [
    'a change reads the data of all earlier changes, and a change that throws writes nothing',
    async (store, elsewhere) => {
      const grow = (from: ThreadStore) =>
        from.change('t', (stored) => {
          const seq = (stored?.thread.seq ?? 0) + 1
          return { thread: threadOf('t', { seq }), events: [eventOf(seq)], result: seq }
        })
      const numbers = await Promise.all(Array.from({ length: 40 }, (_, n) => grow(n % 2 ? elsewhere : store)))
      same(
        numbers.toSorted((a, b) => a - b),
        Array.from({ length: 40 }, (_, n) => n + 1),
        'the results',
      )
      same(
        (await store.events('t')).map(({ seq }) => seq),
        numbers.toSorted((a, b) => a - b),
        'the events',
      )
      const thrown = new Error('no')
      const refused = store.change('t', () => {
        throw thrown
      })
      same((await failure(refused)) === thrown, true, 'whether change rejects with the error that decide threw')
      const checkpoint = { id: 'run', checkpoint: { runId: 'run', revision: 3 }, expected: 2 }
      const conflict = write(store, 't', { thread: threadOf('t', { seq: 99 }), events: [eventOf(99)], checkpoint })
      same(
        (await failure(conflict)) instanceof CheckpointConflictError,
        true,
        'whether a conflict is a CheckpointConflictError',
      )
      same((await store.load('t'))?.thread.seq, 40, 'the seq after changes that failed')
      same((await store.events('t')).length, 40, 'the events after changes that failed')
    },
  ],
  [
    'a change that cannot be written as JSON writes nothing',
    async (store, elsewhere) => {
      const stored = { thread: threadOf('t', { seq: 1, turns: 1 }), turns: [turnOf(1, 'waiting', { startSeq: 1 })] }
      await write(store, 't', { ...stored, events: [eventOf(1)] })
      const written = { ...turnOf(2, 'queued'), metadata: 5n as never }
      const change = { thread: threadOf('t', { seq: 2, turns: 2 }), turns: [turnOf(1, 'failed'), written] }
      await failure(write(store, 't', { ...change, supersededFrom: 1, events: [eventOf(2)] }))
      same(await elsewhere.load('t'), stored, 'load')
      same(await elsewhere.events('t'), [eventOf(1)], 'the events')
    },
  ],
  [
    'load returns the turns that have not ended, the newest turn that has begun, and the turns in its options',
    async (store) => {
      const turns = [
        turnOf(1, 'completed', { startSeq: 1 }),
        turnOf(2, 'completed', { startSeq: 7 }),
        turnOf(3, 'failed', { startSeq: 4 }),
        turnOf(4, 'joined', { startSeq: 9 }),
        turnOf(5, 'dropped'),
        turnOf(6, 'waiting', { startSeq: 6 }),
        turnOf(7, 'queued'),
      ]
      await write(store, 't', { thread: threadOf('t'), turns })
      const numbers = async (options?: Parameters<ThreadStore['load']>[1]) =>
        (await store.load('t', options))?.turns.map(({ number }) => number)
      same(await numbers(), [2, 6, 7], 'without options')
      same(await numbers({ turn: 'turn-5' }), [2, 5, 6, 7], 'with the id of a turn')
      same(await numbers({ messageId: 'message-1' }), [1, 2, 6, 7], 'with the id of a message')
      const count = await store.change('t', (stored) => ({ result: stored?.turns.length }), { messageId: 'message-1' })
      same(count, 4, 'the number of turns in a change')
      await write(store, 't', { turns: [turnOf(7, 'dropped')] })
      same(await numbers(), [2, 6], 'after a turn was dropped')
    },
  ],
  [
    'events returns the events after a number, of a turn, and up to a limit',
    async (store) => {
      const events = [1, 2, 5, 1_048_580].map((seq) => eventOf(seq, { turn: seq === 2 ? 'other' : 'turn-1' }))
      await write(store, 't', { thread: threadOf('t'), events })
      const read = async (query: Parameters<ThreadStore['events']>[1]) =>
        (await store.events('t', query)).map(({ seq }) => seq)
      same(await read({ after: 1 }), [2, 5, 1_048_580], 'after a number')
      same(await read({ turn: 'turn-1', limit: 2 }), [1, 5], 'the first two of a turn')
      same(await read({ after: 1_048_580 }), [], 'after the last number')
    },
  ],
  [
    'events that are not kept are deleted up to a number, and retracted events are no longer returned',
    async (store, elsewhere) => {
      const events = [eventOf(1, { isKept: true }), eventOf(2), eventOf(3, { isKept: true }), eventOf(4), eventOf(5)]
      await write(store, 't', { thread: threadOf('t'), events })
      same(
        (await store.events('t', { keptOnly: true })).map(({ seq }) => seq),
        [1, 3],
        'the kept events',
      )
      await write(store, 't', { droppedThrough: 4 })
      same(
        (await elsewhere.events('t')).map(({ seq }) => seq),
        [1, 3, 5],
        'the events after droppedThrough',
      )
      await write(store, 't', { retracted: [3], events: [eventOf(6)], droppedThrough: 5 })
      same(
        (await elsewhere.events('t')).map(({ seq }) => seq),
        [1, 6],
        'the events after retracted',
      )
    },
  ],
  [
    'superseded turns and events are no longer returned, their checkpoints are deleted, and their message ids can be used again',
    async (store) => {
      const turns = [1, 2, 3].map((n) => turnOf(n, 'completed', { startSeq: n * 10 }))
      const events = [10, 11, 20, 21, 30].map((seq) => eventOf(seq, { turn: `turn-${Math.floor(seq / 10)}` }))
      await write(store, 't', { thread: threadOf('t'), turns: [...turns, turnOf(4, 'queued')], events })
      for (const { id } of turns) await store.checkpoints.save(id, { runId: id, revision: 1 }, 0)
      await write(store, 't', { supersededFrom: 20 })
      same(
        (await store.turns('t')).map(({ number }) => number),
        [1, 4],
        'the turns',
      )
      same(
        (await store.events('t')).map(({ seq }) => seq),
        [10, 11],
        'the events',
      )
      same(
        (await store.load('t', { messageId: 'message-2' }))?.turns.map(({ number }) => number),
        [1, 4],
        'the loaded turns',
      )
      same(await store.checkpoints.load('turn-2'), undefined, 'the checkpoint of a superseded turn')
      same(await store.checkpoints.load('turn-1'), { runId: 'turn-1', revision: 1 }, 'the checkpoint of another turn')
      const again = { ...turnOf(5, 'running', { startSeq: 40 }), messageId: 'message-2' }
      await write(store, 't', { turns: [again] })
      same(
        (await store.load('t', { messageId: 'message-2' }))?.turns.map(({ number }) => number),
        [4, 5],
        'the loaded turns with the new one',
      )
    },
  ],
  [
    'a change can supersede turns and write new ones with the same message ids',
    async (store) => {
      const turns = [1, 2].map((n) => turnOf(n, 'completed', { startSeq: n * 10 }))
      const events = [10, 20].map((seq) => eventOf(seq, { turn: `turn-${seq / 10}` }))
      await write(store, 't', { thread: threadOf('t'), turns, events })
      const again = { ...turnOf(3, 'running', { startSeq: 21 }), messageId: 'message-2' }
      await write(store, 't', { supersededFrom: 20, turns: [again], events: [eventOf(21, { turn: 'turn-3' })] })
      same(
        (await store.turns('t')).map(({ number }) => number),
        [1, 3],
        'the turns',
      )
      same(
        (await store.events('t')).map(({ seq }) => seq),
        [10, 21],
        'the events',
      )
    },
  ],
  [
    'a change saves and deletes checkpoints, and deletesAll deletes the turns, events and checkpoints of a thread',
    async (store, elsewhere) => {
      const checkpoint = { id: 'turn-1', checkpoint: { runId: 'turn-1', revision: 1 }, expected: 0 }
      const turns = [turnOf(1, 'running', { startSeq: 1 })]
      await write(store, 't', { thread: threadOf('t'), turns, events: [eventOf(1, { isKept: true })], checkpoint })
      same(await elsewhere.checkpoints.load('turn-1'), checkpoint.checkpoint, 'the saved checkpoint')
      await write(store, 't', { deletedCheckpoints: ['turn-1', 'none'] })
      same(await elsewhere.checkpoints.load('turn-1'), undefined, 'the deleted checkpoint')
      await write(store, 't', { checkpoint })
      await write(store, 't', { thread: threadOf('t', { isDeleted: true }), deletesAll: true })
      same(await elsewhere.checkpoints.load('turn-1'), undefined, 'the checkpoint of a deleted thread')
      same(await elsewhere.events('t'), [], 'the events of a deleted thread')
      const left = { thread: threadOf('t', { isDeleted: true }), turns: [] }
      same(await elsewhere.load('t'), left, 'the record of a deleted thread')
    },
  ],
  [
    'a checkpoint that begins with the messages of stored events is loaded as it was saved',
    async (store, elsewhere) => {
      const messageOf = (text: string) => ({ role: 'user', content: `\0 \ud800 ${text}` }) as const
      const [first, second, third] = [messageOf('a'), messageOf('b'), messageOf('c')]
      const messages = [first, second, third]
      const start = { type: 'turn-start', message: first, messageId: 'm1' } as const
      const replaced = { type: 'history-replaced', messages: [first, second], runId: 'turn-1' } as const
      const [turn, isKept] = ['turn-1', true]
      const events: StoredEvent[] = [
        { seq: 1, turn, isKept, event: start },
        { seq: 5, turn, isKept, event: replaced },
        { seq: 9, turn, isKept, event: { type: 'message', message: third, runId: turn } },
      ]
      const turns = [turnOf(1, 'running', { startSeq: 1 })]
      const hashOf = (count: number) => messages.slice(0, count).reduce(hashAfter, NO_MESSAGES)
      const saved = (revision: number, from: number, count: number) => {
        const checkpoint = { runId: turn, revision, messages, steps: { begun: 1 } }
        const base = { thread: '\ud800', from, seq: from, count, hash: hashOf(count) }
        return { id: turn, checkpoint, expected: revision - 1, base }
      }
      const [begun, rewritten] = [saved(1, 1, 1), saved(2, 5, 2)]
      await write(store, '\ud800', { thread: threadOf('\ud800'), turns, events, checkpoint: begun })
      for (const reader of [store, elsewhere])
        same(await reader.checkpoints.load(turn), begun.checkpoint, 'the checkpoint that begins with the first message')
      await write(elsewhere, '\ud800', { checkpoint: rewritten })
      same(await store.checkpoints.load(turn), rewritten.checkpoint, 'the checkpoint that begins with a new history')
      const whole = { runId: turn, revision: 3, messages, steps: { begun: 2 } }
      await store.checkpoints.save(turn, whole, 2)
      same(await elsewhere.checkpoints.load(turn), whole, 'a checkpoint that was saved over it')
    },
  ],
  [
    'list returns threads in pages, newest first and without deleted ones',
    async (store, elsewhere) => {
      for (const id of ['b', 'a', 'd', 'c']) await write(store, id, { thread: threadOf(id) })
      await write(store, 'a', { thread: threadOf('a', { seq: 5 }) })
      await write(store, 'd', { thread: threadOf('d', { isDeleted: true }) })
      const page = async (options: Parameters<ThreadStore['list']>[0]) =>
        (await elsewhere.list(options)).map(({ id }) => id)
      same(await page({ limit: 10 }), ['c', 'a', 'b'], 'all')
      same(await page({ limit: 1 }), ['c'], 'the first page')
      same(await page({ limit: 10, after: 'c' }), ['a', 'b'], 'the next page')
      same(await page({ limit: 10, after: 'd' }), ['a', 'b'], 'the page after a deleted thread')
      same(await page({ limit: 10, after: 'none' }), [], 'the page after a thread that does not exist')
    },
  ],
  [
    'due returns the threads with an expired lease, and those with a queue that is not paused and no active turn',
    async (store, elsewhere) => {
      const running = (n: number, leaseUntil: number) => turnOf(n, 'running', { startSeq: 1, leaseUntil })
      await write(store, 'late', { thread: threadOf('late'), turns: [running(1, 99)] })
      await write(store, 'running', { thread: threadOf('running'), turns: [running(2, 100), turnOf(3, 'queued')] })
      await write(store, 'left', { thread: threadOf('left'), turns: [turnOf(4, 'queued'), turnOf(5, 'queued')] })
      await write(store, 'paused', { thread: threadOf('paused', { isPaused: true }), turns: [turnOf(6, 'queued')] })
      await write(store, 'asks', { thread: threadOf('asks'), turns: [turnOf(7, 'waiting'), turnOf(8, 'queued')] })
      await write(store, 'idle', { thread: threadOf('idle'), turns: [turnOf(9, 'completed')] })
      same((await elsewhere.due(100, 10)).toSorted(), ['late', 'left'], 'the due threads')
      same((await elsewhere.due(100, 1)).length, 1, 'the number of due threads with limit 1')
      same((await elsewhere.due(101, 10)).toSorted(), ['late', 'left', 'running'], 'the due threads at a later time')
      await write(store, 'left', { thread: threadOf('left', { isPaused: true }) })
      same(await elsewhere.due(100, 10), ['late'], 'the due threads after a queue was paused')
      await write(store, 'left', { thread: threadOf('left', { isPaused: true }), turns: [turnOf(10, 'queued')] })
      same(await elsewhere.due(100, 10), ['late'], 'the due threads after a message was added to a paused queue')
      await write(store, 'left', { thread: threadOf('left') })
      same((await elsewhere.due(100, 10)).toSorted(), ['late', 'left'], 'the due threads after the queue continues')
    },
  ],
  [
    'the leases of many turns are renewed at once, except of those whose lease has changed, that end or that are to be stopped',
    async (store, elsewhere) => {
      const changes = [
        turnOf(1, 'running', { leaseUntil: 100 }),
        turnOf(2, 'running', { leaseUntil: 200, text: '"closing":""' }),
        turnOf(3, 'running', { leaseUntil: 101 }),
        turnOf(4, 'waiting', { leaseUntil: 100 }),
        turnOf(5, 'running', { leaseUntil: 100, closing: 'stopped' }),
        turnOf(6, 'running', { leaseUntil: 100 }),
      ]
      for (const turn of changes) await write(store, turn.id, { thread: threadOf(turn.id), turns: [turn] })
      const known = ['turn-1', 'turn-2', 'turn-3', 'turn-4', 'turn-5', 'none'].map((turn) => ({
        turn,
        leaseUntil: 100,
      }))
      const before = (await store.now?.()) ?? Date.now()
      const renewed = await store.renewLeases([...known, { turn: 'turn-2', leaseUntil: 200 }], 60_000)
      same([...renewed.keys()].toSorted(), ['turn-1', 'turn-2'], 'the renewed turns')
      const leaseOf = async (id: string) => (await elsewhere.load(id))?.turns[0]?.leaseUntil ?? 0
      for (const [id, until] of renewed) {
        same(await leaseOf(id), until, `the lease of ${id} that is loaded`)
        same((await elsewhere.turns(id))[0]?.leaseUntil, until, `the lease of ${id} among all turns`)
        same(
          until >= before + 60_000 && until < before + 120_000,
          true,
          'whether the lease is computed from the time of the store',
        )
      }
      same([await leaseOf('turn-3'), await leaseOf('turn-6')], [101, 100], 'the leases of the others')
      same((await elsewhere.due(before, 10)).toSorted(), ['turn-3', 'turn-5', 'turn-6'], 'the due threads')
      await store.change('turn-1', (stored) => ({
        turns: (stored?.turns ?? []).map((one) => ({ ...one, epoch: 2 })),
        result: 'done',
      }))
      same(await leaseOf('turn-1'), renewed.get('turn-1'), 'the lease after a change')
      same(await store.renewLeases([], 0), new Map(), 'what is renewed of no turns')
    },
  ],
  [
    'every string can be an id, and different strings are different ids',
    async (store, elsewhere) => {
      for (const [index, id] of ODD_IDS.entries()) {
        const turn = { ...turnOf(1, 'queued'), id: `${id} ${index}`, messageId: id }
        await write(store, id, {
          thread: threadOf(id, { seq: index }),
          turns: [turn],
          events: [eventOf(1, { turn: id })],
        })
      }
      for (const [index, id] of ODD_IDS.entries()) {
        const stored = await elsewhere.load(id, { messageId: id })
        same(
          [stored?.thread.id, stored?.thread.seq, stored?.turns.length],
          [id, index, 1],
          `thread ${JSON.stringify(id)}`,
        )
        same(await elsewhere.events(id, { turn: id }), [eventOf(1, { turn: id })], `events of ${JSON.stringify(id)}`)
      }
      same((await elsewhere.due(0, 1_000)).toSorted(), [...ODD_IDS].toSorted(), 'the due threads')
      const listed = await elsewhere.list({ limit: 1_000 })
      same(listed.map(({ id }) => id).reverse(), ODD_IDS, 'the listed threads')
    },
  ],
  [
    'the store copies what it writes and what it returns',
    async (store) => {
      const turn = { ...turnOf(1, 'running', { startSeq: 1 }), metadata: { user: 'ada' } }
      await write(store, 't', { thread: threadOf('t'), turns: [turn], events: [eventOf(1)] })
      turn.metadata.user = 'eve'
      const read = (await store.load('t'))?.turns[0]
      same(read?.metadata, { user: 'ada' }, 'the metadata after the written object was changed')
      Object.assign(Object(read?.metadata), { user: 'eve' })
      same(
        (await store.load('t'))?.turns[0]?.metadata,
        { user: 'ada' },
        'the metadata after a returned object was changed',
      )
    },
  ],
]

const ODD_IDS: readonly string[] = [
  'a',
  'A',
  'a ',
  ' ',
  '..',
  '../x',
  '%2e',
  "'; DROP TABLE threads; --",
  '"',
  '\\u0000',
  '\0',
  'a\0',
  '\n',
  'é',
  'e\u0301',
  '\ud800',
  '\ud801',
  '\ufffd',
  '\u{1f9ea}',
  '__proto__',
  'constructor',
  'null',
  '0',
  'x'.repeat(1_024),
  `${'x'.repeat(1_023)}y`,
]

function threadOf(id: string, changes: Partial<ThreadRecord> = {}): ThreadRecord {
  const empty = { id, tag: '0123abcd', createdAt: 1, updatedAt: 2, seq: 0, turns: 0, historyAt: 0 }
  return { ...empty, isPaused: false, isDeleted: false, ...changes }
}

function turnOf(number: number, status: TurnRecord['status'], changes: Partial<TurnRecord> = {}): TurnRecord {
  const ids = { id: `turn-${number}`, number, messageId: `message-${number}` }
  return { ...ids, status, createdAt: 1, epoch: 1, leaseUntil: 0, ...changes }
}

function eventOf(seq: number, changes: Partial<StoredEvent> = {}): StoredEvent {
  const message = { role: 'user', content: `\0 \ud800 ${seq}` } as const
  return { seq, turn: 'turn-1', ...changes, event: { type: 'message', message, runId: 'turn-1', messageId: `m${seq}` } }
}

function write(store: ThreadStore, id: string, change: Omit<Change<string>, 'result'>): Promise<string> {
  return store.change(id, () => ({ ...change, result: 'done' }))
}

function same(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [found, expected].map((value) => JSON.stringify(sorted(value)))
  if (a !== b) throw new ThreadStoreContractError(`${what}: ${a} instead of ${b}`)
}

/** Sorts the keys of all objects in the value. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new ThreadStoreContractError('a change that must fail did not fail')
}

/** Threads in memory: for tests, and for conversations that need not outlive their process. */

import { newestTurn } from '../thread-records.ts'
import type {
  Asked,
  Change,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
  TurnRecord,
} from '../thread-store.ts'
import { checkpointText, conflictOf, isOpen, ORDER } from './stored.ts'

interface Kept {
  thread: ThreadRecord
  /** By id, as JSON: what is given out is a copy. */
  readonly turns: Map<string, TurnRecord & { readonly isSuperseded?: true }>
  events: (StoredEvent & { readonly isSuperseded?: true })[]
}

/** It holds every thread until that is deleted. */
export function memoryThreads(): ThreadStore {
  const threads = new Map<string, Kept>()
  const revisions = new Map<string, { readonly revision: number; readonly savedAt: number; readonly text: string }>()

  const checkpoints: ThreadStore['checkpoints'] = {
    async load(id) {
      const found = revisions.get(id)
      return found && JSON.parse(found.text)
    },
    async save(id, checkpoint, expected) {
      saveCheckpoint(id, checkpointText(checkpoint, expected), checkpoint.revision, expected)
    },
    async delete(id) {
      revisions.delete(id)
    },
    async prune({ olderThan }) {
      const old = [...revisions].filter(([, { savedAt }]) => savedAt < Number(olderThan))
      for (const [id] of old) revisions.delete(id)
      return old.length
    },
  }
  function checkRevision(id: string, expected: number): void {
    const found = revisions.get(id)?.revision
    if ((found ?? 0) !== expected) throw conflictOf(id, expected, found)
  }

  function saveCheckpoint(id: string, text: string, revision: number, expected: number): void {
    checkRevision(id, expected)
    revisions.set(id, { revision, savedAt: Date.now(), text })
  }

  function found(id: string, asked: Asked = {}): StoredThread | undefined {
    const kept = threads.get(id)
    if (!kept) return undefined
    const turns = [...kept.turns.values()].filter(({ isSuperseded }) => !isSuperseded)
    const newest = newestTurn(turns)
    const isAsked = (turn: TurnRecord) => turn.id === asked.turn || turn.messageId === asked.messageId
    return copy({
      thread: kept.thread,
      turns: turns.filter((turn) => isOpen(turn) || turn === newest || isAsked(turn)).sort(ORDER),
    })
  }

  function write(id: string, change: Change<unknown>): void {
    const { checkpoint } = change
    const text = checkpoint && checkpointText(checkpoint.checkpoint, checkpoint.expected)
    if (checkpoint) checkRevision(checkpoint.id, checkpoint.expected)
    const thread = change.thread ?? threads.get(id)?.thread
    if (!thread) return
    const kept: Kept = threads.get(id) ?? { thread, turns: new Map(), events: [] }
    threads.set(id, kept)
    kept.thread = copy(thread)
    const { droppedThrough: through, supersededFrom: from } = change
    if (from !== undefined) {
      kept.events = kept.events.map((one) => (one.seq >= from ? superseded(one) : one))
      for (const turn of kept.turns.values()) {
        if (turn.startSeq === undefined || turn.startSeq < from) continue
        kept.turns.set(turn.id, superseded(turn))
        revisions.delete(turn.id)
      }
    }
    for (const turn of change.turns ?? []) kept.turns.set(turn.id, copy(turn))
    for (const event of change.events ?? []) kept.events.push(copy(event))
    if (through !== undefined) kept.events = kept.events.filter(({ seq, isKept }) => isKept || seq > through)
    const retracted = new Set(change.retracted)
    if (retracted.size > 0) kept.events = kept.events.map((one) => (retracted.has(one.seq) ? superseded(one) : one))
    if (checkpoint && text !== undefined)
      saveCheckpoint(checkpoint.id, text, checkpoint.checkpoint.revision, checkpoint.expected)
    for (const run of change.forgotten ?? []) revisions.delete(run)
    if (!change.isErased) return
    for (const turn of kept.turns.keys()) revisions.delete(turn)
    kept.turns.clear()
    kept.events = []
  }

  return {
    checkpoints,
    async load(id, asked) {
      return found(id, asked)
    },
    async change(id, decide, asked) {
      const change = decide(found(id, asked))
      write(id, change)
      return change.result
    },
    async events(id, { after = 0, turn, keptOnly = false, limit = Number.POSITIVE_INFINITY } = {}) {
      const fits = (one: Kept['events'][number]) =>
        !one.isSuperseded && one.seq > after && (!turn || one.turn === turn) && (!keptOnly || one.isKept)
      return copy((threads.get(id)?.events ?? []).filter(fits).slice(0, limit))
    },
    async turns(id) {
      const turns = [...(threads.get(id)?.turns.values() ?? [])]
      return copy(turns.filter(({ isSuperseded }) => !isSuperseded).sort(ORDER))
    },
    async list({ after, limit }) {
      const all = [...threads.values()].map(({ thread }) => thread).reverse()
      const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const live = after !== undefined && from === 0 ? [] : all.slice(from).filter(({ isDeleted }) => !isDeleted)
      return copy(live.slice(0, limit))
    },
    async due(now, limit) {
      const due: string[] = []
      for (const [id, { thread, turns }] of threads) {
        const open = [...turns.values()].filter((turn) => isOpen(turn) && !turn.isSuperseded)
        const active = open.find(({ status }) => status !== 'queued')
        const isDue = active
          ? active.status === 'running' && active.leaseUntil < now
          : !thread.isPaused && open.length > 0
        if (isDue) due.push(id)
        if (due.length === limit) break
      }
      return due
    },
  }
}

function superseded<One extends object>(one: One): One & { readonly isSuperseded: true } {
  return { ...one, isSuperseded: true }
}

function copy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}

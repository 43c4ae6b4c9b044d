/** Stores threads in memory: for tests, and for conversations that may be lost with the process. */

import { type AssistantMessage, CheckpointConflictError, textOf } from '@meanwhile/core'
import { checkpointText, loadedCheckpoint } from '../stored-checkpoint.ts'
import { newestTurn } from '../thread-records.ts'
import type {
  Change,
  EventQuery,
  LoadOptions,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
  TurnRecord,
} from '../thread-store.ts'
import { byNumber, isOpen } from './shared.ts'

interface ThreadData {
  thread: ThreadRecord
  /** By id. */
  readonly turns: Map<string, KeptTurn>
  events: (StoredEvent & { readonly isSuperseded?: true })[]
}

/** A turn. If its `text` is that of its last message, it has that message instead, so that each text is kept once. */
type KeptTurn = TurnRecord & { readonly isSuperseded?: true; readonly answer?: AssistantMessage }

/** Stores threads in memory. The messages of a thread stay in memory until the thread is deleted. */
export function memoryThreads(): ThreadStore {
  const threads = new Map<string, ThreadData>()
  /** The ids of the threads with turns that have not ended. */
  const open = new Set<string>()
  const revisions = new Map<string, { readonly revision: number; readonly savedAt: number; readonly text: string }>()

  const checkpoints: ThreadStore['checkpoints'] = {
    load: (id) => loadedCheckpoint(id, async () => revisions.get(id)?.text, events),
    async save(id, checkpoint, expected) {
      saveCheckpoint(id, checkpointText({ checkpoint, expected }), checkpoint.revision, expected)
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
    if ((found ?? 0) !== expected) throw new CheckpointConflictError(id, expected, found)
  }

  function saveCheckpoint(id: string, text: string, revision: number, expected: number): void {
    checkRevision(id, expected)
    revisions.set(id, { revision, savedAt: Date.now(), text })
  }

  function found(id: string, { turn, messageId }: LoadOptions = {}): StoredThread | undefined {
    const data = threads.get(id)
    if (!data) return undefined
    const turns = [...data.turns.values()].filter(({ isSuperseded }) => !isSuperseded)
    const newest = newestTurn(turns)
    const isNamed = (one: TurnRecord) => one.id === turn || one.messageId === messageId
    const loaded = turns.filter((turn) => isOpen(turn) || turn === newest || isNamed(turn)).sort(byNumber)
    return copy({ thread: data.thread, turns: loaded.map(withText) })
  }

  function write(id: string, change: Change<unknown>): void {
    const { checkpoint, droppedThrough, supersededFrom } = change
    const text = checkpoint && checkpointText(checkpoint)
    if (checkpoint) checkRevision(checkpoint.id, checkpoint.expected)
    const thread = change.thread ?? threads.get(id)?.thread
    if (!thread) return
    // All that can throw comes before the first change of the data.
    const written = copy({ thread, turns: change.turns ?? [], events: change.events ?? [] })
    const data: ThreadData = threads.get(id) ?? { thread, turns: new Map(), events: [] }
    threads.set(id, data)
    data.thread = written.thread
    if (supersededFrom !== undefined) {
      data.events = data.events.map((one) => (one.seq >= supersededFrom ? superseded(one) : one))
      for (const turn of data.turns.values()) {
        if (turn.startSeq === undefined || turn.startSeq < supersededFrom) continue
        data.turns.set(turn.id, superseded(turn))
        revisions.delete(turn.id)
      }
    }
    for (const event of written.events) data.events.push(event)
    for (const turn of written.turns) data.turns.set(turn.id, withAnswer(turn, data.events))
    if (droppedThrough !== undefined)
      data.events = data.events.filter(({ seq, isKept }) => isKept || seq > droppedThrough)
    const retracted = new Set(change.retracted)
    if (retracted.size > 0) data.events = data.events.map((one) => (retracted.has(one.seq) ? superseded(one) : one))
    if (checkpoint && text !== undefined)
      saveCheckpoint(checkpoint.id, text, checkpoint.checkpoint.revision, checkpoint.expected)
    for (const run of change.deletedCheckpoints ?? []) revisions.delete(run)
    if (change.deletesAll) {
      for (const turn of data.turns.keys()) revisions.delete(turn)
      data.turns.clear()
      data.events = []
    }
    if (openTurns(data).length > 0) open.add(id)
    else open.delete(id)
  }

  async function events(
    id: string,
    { after = 0, turn, keptOnly = false, limit = Number.POSITIVE_INFINITY }: EventQuery = {},
  ): Promise<readonly StoredEvent[]> {
    const fits = (one: ThreadData['events'][number]) =>
      !one.isSuperseded && one.seq > after && (!turn || one.turn === turn) && (!keptOnly || one.isKept)
    return copy((threads.get(id)?.events ?? []).filter(fits).slice(0, limit))
  }

  return {
    checkpoints,
    async load(id, options) {
      return found(id, options)
    },
    async change(id, decide, options) {
      const change = decide(found(id, options))
      write(id, change)
      return change.result
    },
    events,
    async turns(id) {
      const turns = [...(threads.get(id)?.turns.values() ?? [])]
      return copy(
        turns
          .filter(({ isSuperseded }) => !isSuperseded)
          .sort(byNumber)
          .map(withText),
      )
    },
    async list({ after, limit }) {
      const all = [...threads.values()].map(({ thread }) => thread).reverse()
      const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const live = after !== undefined && from === 0 ? [] : all.slice(from).filter(({ isDeleted }) => !isDeleted)
      return copy(live.slice(0, limit))
    },
    async renewLeases(turns, lease) {
      const known = new Map(turns.map(({ turn, leaseUntil }) => [turn, leaseUntil]))
      const until = Date.now() + lease
      const renewed = new Map<string, number>()
      for (const id of open)
        for (const turn of openTurns(threads.get(id)))
          if (turn.status === 'running' && turn.closing === undefined && known.get(turn.id) === turn.leaseUntil) {
            threads.get(id)?.turns.set(turn.id, { ...turn, leaseUntil: until })
            renewed.set(turn.id, until)
          }
      return renewed
    },
    async due(now, limit) {
      const due: string[] = []
      for (const id of open) {
        const data = threads.get(id)
        const active = openTurns(data).find(({ status }) => status !== 'queued')
        const isDue = active ? active.status === 'running' && active.leaseUntil < now : data?.thread.isPaused === false
        if (isDue) due.push(id)
        if (due.length === limit) break
      }
      return due
    },
  }
}

function openTurns(data: ThreadData | undefined): readonly TurnRecord[] {
  return [...(data?.turns.values() ?? [])].filter((turn) => isOpen(turn) && !turn.isSuperseded)
}

function withAnswer(turn: TurnRecord, events: ThreadData['events']): KeptTurn {
  if (!turn.text) return turn
  const { text, ...rest } = turn
  const last = events.findLast((one) => one.turn === turn.id && one.event.type === 'message' && !('path' in one.event))
  const message = last?.event.type === 'message' ? last.event.message : undefined
  return message?.role === 'assistant' && textOf(message) === text ? { ...rest, answer: message } : turn
}

function withText({ answer, ...turn }: KeptTurn): TurnRecord {
  return answer ? { ...turn, text: textOf(answer) } : turn
}

function superseded<One extends object>(one: One): One & { readonly isSuperseded: true } {
  return { ...one, isSuperseded: true }
}

function copy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}

/** Starts calls: each gets its entry, enters the ledger and is begun. */

import type { ToolCall } from '../message.ts'
import type { CallOptions } from '../middleware.ts'
import type { Rest } from '../needs/rest.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import type { RunState } from '../run/run.ts'
import type { Actor } from '../run/run-view.ts'
import { Slots } from '../slots/slots.ts'
import { findTool } from './aliases.ts'
import type { Asker, Askers } from './askers.ts'
import { CallEntry } from './call-entry.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import type { Ledger } from './ledger.ts'

interface Start {
  /** The tool or wrap that makes the call, or asks for it early. */
  readonly actor?: Actor
  readonly asker?: Asker | undefined
  readonly options?: CallOptions
  /** Of a call that starts with the members its tool needs. */
  readonly rest?: Rest | undefined
}

interface Parts {
  readonly run: RunState
  readonly slots: Slots
  readonly ledger: Ledger
  readonly askers: Askers
  readonly warmUps: WarmUps
  readonly atWork: CallsAtWork
}

export class CallStarts {
  /** How many a response had asked for before it stood. */
  early = 0
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  start(call: ToolCall, { actor, asker, options = {}, rest }: Start): CallEntry {
    const { run, slots, ledger, askers, warmUps, atWork } = this.#parts
    const { context, setup, steps, history } = run
    const maker = actor?.call
    const entry = new CallEntry({
      key: rest ? ledger.keyOfStart(call) : ledger.keyOf(call, steps.begun, asker, maker),
      call,
      tool: findTool(setup.tools, call.name),
      step: steps.begun,
      parent: actor && maker ? actor.context : context,
      // What a tool calls stands on what its own call stands on.
      attributes: {
        'meanwhile.dispatch.evidence': maker?.attributes['meanwhile.dispatch.evidence'],
        ...options.attributes,
      },
      asker,
      maker,
      caller: run.caller,
      provisional: maker ? maker.provisional : asker !== undefined && askers.open,
      most: maker ? { effect: maker.most.effect } : { effect: options.ceiling, keys: options.keys },
      // What tools and wraps make works inside the slot of the call that made it, and under its keys.
      slots: maker ? new Slots() : slots,
      rest,
      warmUp: maker ? undefined : warmUps.take(call.id),
    })
    ledger.add(entry)
    history.takenIds.add(call.id)
    if (entry.provisional && !maker) this.early++
    actor?.execution?.children.push(entry)
    atWork.begin(entry)
    const { status } = entry
    options.started?.(() => status.read())
    return entry
  }

  /**
   * One that a checkpoint holds, and that is to be made, is begun when it is asked for. If its result is there, what it had called by then
   * and what never started is begun instead: nobody asks for that again.
   */
  begun(entry: CallEntry, actor?: Actor): CallEntry {
    if (entry.reused) for (const child of entry.children) if (child.record.attempts === 0) this.begun(child)
    if (!entry.course.isAsleep) return entry
    const { run, atWork } = this.#parts
    entry.parent = actor && entry.maker ? actor.context : run.context
    atWork.begin(entry)
    return entry
  }
}

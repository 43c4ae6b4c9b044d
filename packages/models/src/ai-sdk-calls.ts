/** Reads the calls in a stream of the AI SDK's specification. Its parts may repeat or contradict each other. */

import type { Assembler, Label } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { type Keeper, ownMetadata } from './ai-sdk-kept.ts'
import type { CallPart, InputPiece, InputStart } from './ai-sdk-model.ts'
import { CallInput } from './call-input.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError } from './explain.ts'
import { HeldText, ownerless } from './held-text.ts'
import { type TwinCall, TwinCalls } from './twin-calls.ts'
import { argumentsIn, idIn } from './wire-values.ts'

type Id = string | undefined

interface PartCall extends TwinCall<PartCall> {
  /** Its deltas are not pieces of JSON. */
  readonly isText: boolean
  /** Whether input arrived in deltas. */
  hasDeltas: boolean
  isEnded: boolean
  /** Whether the model that made it refused later, and another one answers. */
  isWithdrawn?: boolean
}

/** The calls that have the same id. */
interface CallsOfId {
  readonly first: PartCall
  latest: PartCall
  /** Those whose `tool-call` part has not arrived, in the order of their starts. */
  readonly withoutWhole: Set<PartCall>
}

/**
 * If `seals` is set, a `tool-call` part, which repeats the whole input, seals its call; `tool-input-end` seals nothing.
 * If the wire does not mark the end of a call, the part does not either: AI SDK 5, some versions of 6, and OpenRouter's
 * provider send it as soon as the input parses. An empty input that did not arrive in pieces is not sealed either,
 * because the response may have been truncated before it (qA10). Such calls are sealed by the end of the response.
 */
export class PartCalls {
  readonly #kept: Keeper
  readonly #seals: boolean
  readonly #newLabel: () => Label
  readonly #byId = new Map<Id, CallsOfId>()
  /** Calls that have started and whose `tool-call` part has not arrived. */
  readonly #withoutWhole = new Set<PartCall>()
  /** The ids of pieces without a start, until a `tool-call` part has the whole input. */
  readonly #strays = new Set<Id>()
  #ours: PartCall[] = []
  readonly #limits: InputLimits
  readonly #held: HeldText
  readonly #twins: TwinCalls<PartCall>

  constructor(kept: Keeper, seals: boolean, newLabel: () => Label, limits: InputLimits) {
    this.#kept = kept
    this.#seals = seals
    this.#newLabel = newLabel
    this.#limits = limits
    this.#held = new HeldText(limits)
    this.#twins = new TwinCalls(
      {
        isOver: ({ isSealed }) => isSealed,
        seal: (call, text, to) => this.#whole(call, text, to),
        add: (call, text, to) => this.#write(call, text, to),
      },
      this.#held,
    )
  }

  start(part: InputStart, to: Assembler): void {
    const id = idIn(part.id)
    const latest = this.#byId.get(id)?.latest
    // It cannot be decided whether it is the same call (qA15).
    if (
      latest &&
      this.#withoutWhole.has(latest) &&
      !latest.hasDeltas &&
      !latest.isEnded &&
      latest.name !== part.toolName
    ) {
      throw new ContradictionError(
        `the call that started as ${latest.name} started again as ${part.toolName} before it ended`,
        { id, name: latest.name },
      )
    }
    const call = this.#begin(id, part, to)
    this.#withoutWhole.add(call)
    this.#byId.get(id)?.withoutWhole.add(call)
  }

  add({ type, id, delta, providerMetadata }: InputPiece, to: Assembler): void {
    const call = this.#of(idIn(id))
    if (!call) {
      // The `tool-call` part has to identify the call, and repeat its input.
      if (delta && !this.#strays.has(idIn(id))) this.#stray(id)
      return
    }
    const metadata = ownMetadata(providerMetadata)
    if (metadata && !call.isHeld) to.call(call.label, { metadata })
    if (delta) call.hasDeltas = true
    if (!call.isText) this.#write(call, argumentsIn(delta), to)
    if (type === 'tool-input-end') call.isEnded = true
  }

  /** The whole call. */
  addWhole(part: CallPart, to: Assembler): void {
    const id = idIn(part.toolCallId)
    this.#strays.delete(id)
    const known = this.#callOf(id, part)
    const call = known ?? this.#begin(id, part, to)
    if (known && !known.isHeld) this.#announce(known, id, part, to)
    const text = argumentsIn(part.input)
    const isEmpty = isEmptyInput(text)
    // An empty input does not override the pieces (qR11).
    if (this.#seals && (call.hasDeltas || !isEmpty)) this.#whole(call, isEmpty ? '' : text, to)
    else if (!call.hasDeltas && !isEmpty) this.#write(call, text, to)
  }

  /** The label of the call with this id that was announced, if one was. */
  label(id: string): Label | undefined {
    const calls = this.#byId.get(idIn(id))
    return calls?.latest.isHeld ? calls.first.label : calls?.latest.label
  }

  /** Another model answers: the calls of the one that refused must not run, even if they are sealed (qA11). */
  withdraw(to: Assembler): void {
    for (const call of this.#ours) {
      call.isWithdrawn = true
      this.#withoutWhole.delete(call)
      if (call.isHeld) call.isRepeated = true
      else to.call(call.label, { providerResult: null })
    }
    // Parts that end an open call of that model may still come, so its id stays known.
    for (const [id, { latest, withoutWhole }] of this.#byId) {
      if (latest.isWithdrawn && withoutWhole.size === 0) this.#byId.delete(id)
    }
    this.#ours = []
    this.#strays.clear()
    this.#twins.clear()
  }

  /**
   * The response has ended. `mayRun`: whether it allows its calls to run.
   *
   * @throws {ContradictionError} They may run, and input arrived that belongs to none of them.
   */
  finish(mayRun: boolean, to: Assembler): void {
    this.#twins.end(mayRun, to)
    if (mayRun && this.#strays.size > 0) throw ownerless()
  }

  #begin(id: Id, part: InputStart | CallPart, to: Assembler): PartCall {
    const isText = 'inputEncoding' in part && part.inputEncoding === 'text'
    const call: PartCall = {
      label: this.#newLabel(),
      name: part.toolName,
      isText,
      input: new CallInput(this.#limits),
      isFed: false,
      hasDeltas: false,
      isEnded: false,
      isSealed: false,
    }
    if (!part.providerExecuted) this.#ours.push(call)
    const before = this.#byId.get(id)
    const known = before?.latest.isWithdrawn ? undefined : before
    if (known) known.latest = call
    else this.#byId.set(id, { first: call, latest: call, withoutWhole: new Set() })
    const first = id === undefined ? undefined : known?.first
    if (first && first.name === part.toolName && !part.providerExecuted) {
      call.first = first
      call.isHeld = true
      this.#twins.wait(call, (reader) => this.#announce(call, id, part, reader))
    } else this.#announce(call, id, part, to)
    return call
  }

  #announce({ label }: PartCall, id: Id, part: InputStart | CallPart, to: Assembler): void {
    // The provider runs it, even if its result comes late or in another response. This must be known before the
    // name, because a call may start with its name.
    if (part.providerExecuted) to.call(label, { providerResult: null, metadata: this.#kept.keep({ executed: true }) })
    const metadata = ownMetadata(part.providerMetadata)
    to.call(label, { id, name: part.toolName, ...(metadata && { metadata }) })
  }

  #of(id: Id): PartCall | undefined {
    const known = this.#byId.get(id)?.latest
    if (known || id !== undefined || this.#withoutWhole.size !== 1) return known
    const [only] = this.#withoutWhole
    return only
  }

  #stray(id: unknown): void {
    // Only its id is kept.
    this.#held.add(String(id))
    this.#strays.add(idIn(id))
  }

  #callOf(id: Id, { toolName }: CallPart): PartCall | undefined {
    const calls = this.#byId.get(id)
    if (!calls) return undefined
    const { latest, withoutWhole } = calls
    const [call] = withoutWhole
    if (call) {
      withoutWhole.delete(call)
      this.#withoutWhole.delete(call)
      return call
    }
    // A provider that sends the part as soon as the input parses may send it again when a longer input parses.
    return !this.#seals && latest.hasDeltas && latest.name === toolName ? latest : undefined
  }

  #write(call: PartCall, delta: string, to: Assembler): void {
    if (!delta || call.isRepeated) return
    call.isFed = true
    const added = call.input.add(delta)
    if (call.isHeld) this.#held.add(added)
    else to.call(call.label, { delta })
  }

  #whole(call: PartCall, text: string, to: Assembler): void {
    if (call.isHeld) this.#held.add(text.slice(call.input.text.length))
    if (text) call.input.replace(text)
    call.isFed = call.isSealed = true
    if (!call.isHeld) to.seal(call.label, text)
    this.#twins.settle(call, to)
  }
}

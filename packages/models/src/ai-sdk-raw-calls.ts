/** The calls in the raw chunks of a response, and what the AI SDK's package reports about the same calls. */

import type { Assembler, CallPiece, Label } from '@meanwhile/assemble'
import { ownMetadata } from './ai-sdk-kept.ts'
import type { CallPart, InputPiece, InputStart } from './ai-sdk-model.ts'
import { ContradictionError } from './explain.ts'
import { isRecord } from './is-record.ts'
import { ToolNames } from './tool-names.ts'
import { idIn } from './wire-values.ts'

type CalledPart = InputStart | InputPiece | CallPart

interface RawCall {
  /** Differs from the labels that the parts have. */
  readonly label: Label
  id?: string
  name?: string
  /** Whether only the end of the response contains it, which no package reads. */
  readonly isLate: boolean
}

/**
 * The AI SDK's providers may turn chunks into wrong calls: two calls from a name in two pieces, or one with only the
 * first piece (qC47); one call from two with the same index and id (qC48); a call without arguments if these came at
 * another index (qA17, qC50). So calls are read from the chunks, and the parts only add their metadata.
 */
export class RawCalls {
  readonly #isExact: boolean
  readonly #names: ToolNames
  /** By the reader's own labels, in the order in which the calls began. */
  readonly #calls = new Map<Label, RawCall>()
  /** Calls that the provider runs. They are read from the parts, which contain them with their results. */
  readonly #providers = new Set<Label>()
  readonly #byId = new Map<string, Label>()
  readonly #order: Label[] = []
  /** How many parts have started calls. */
  #started = 0
  /** The ids of the parts, and the calls that they report as whole. */
  readonly #mentioned = new Set<string>()
  readonly #whole: CallPart[] = []
  /** Calls that are finished, with their whole input: they are sealed when the part has come that has their metadata. */
  readonly #unsealed = new Map<string | undefined, Map<RawCall, string | undefined>>()
  /** The ids of parts of calls that the provider runs. */
  readonly #executed = new Set<string>()
  #mayExpand = false
  /** Whether chunks of the wire arrive. */
  areRead = false
  /** Whether the chunk that is read ends the response. */
  areEnding = false

  /** `isExact`: whether the package reports every call that a chunk announces, by its id and its name. */
  constructor(isExact: boolean, request: ConstructorParameters<typeof ToolNames>[0]) {
    this.#isExact = isExact
    this.#names = new ToolNames(request)
  }

  /** Takes a piece of a call from a chunk. */
  call(label: Label, { metadata, ...piece }: CallPiece, to: Assembler): void {
    if (this.#providers.has(label)) return
    let call = this.#calls.get(label)
    if (!call && piece.providerResult !== undefined) {
      this.#providers.add(label)
      return
    }
    if (!call) {
      call = { label: ownLabel(label), isLate: this.areEnding }
      this.#calls.set(label, call)
      this.#order.push(call.label)
    }
    if (piece.expand) this.#mayExpand = true
    if (piece.id) {
      call.id ??= piece.id
      if (!this.#byId.has(piece.id)) this.#byId.set(piece.id, call.label)
    }
    if (piece.name) call.name = piece.name
    // Another model answers (qA11).
    if (piece.providerResult !== undefined) this.#unsealed.get(call.id)?.delete(call)
    to.call(call.label, { ...piece, ...fieldsIn(metadata) })
  }

  /** The provider has finished the call. `text`: as in {@link Assembler.seal}. */
  seal(label: Label, text: string | undefined): void {
    const call = this.#calls.get(label)
    if (!call) return
    const calls = this.#unsealed.get(call.id) ?? new Map<RawCall, string | undefined>()
    this.#unsealed.set(call.id, calls.set(call, text))
  }

  /** Seals all finished calls, because the response has ended. */
  sealAll(to: Assembler): void {
    for (const id of this.#unsealed.keys()) this.#sealCalls(id, to)
  }

  isWhole(label: Label, to: Assembler): boolean {
    return to.isWhole(ownLabel(label))
  }

  /** Whether the part belongs to a call in the chunks, and not to one that the provider runs. */
  takes(part: CalledPart): boolean {
    if ('providerExecuted' in part && part.providerExecuted) this.#executed.add(idOf(part))
    return this.areRead && !this.#executed.has(idOf(part))
  }

  /** Whether the part belongs to a call that is known. */
  knows(part: CalledPart): boolean {
    return this.#byId.has(idOf(part))
  }

  /**
   * Adds a part's metadata to the call with its id. If the provider made up the id, metadata for the n-th started call
   * belongs to the n-th call.
   */
  mark(part: CalledPart, to: Assembler): void {
    const id = idOf(part)
    this.#mentioned.add(id)
    const begun = part.type === 'tool-input-start' ? this.#order[this.#started++] : undefined
    if (begun !== undefined && !this.#byId.has(id)) this.#byId.set(id, begun)
    const label = this.#byId.get(id)
    const metadata = ownMetadata(part.providerMetadata)
    if (label !== undefined && metadata) to.call(label, { metadata })
    if (part.type !== 'tool-call') return
    this.#whole.push(part)
    this.#sealCalls(id, to)
  }

  /**
   * The response has ended. `isComplete`: whether the package could read all chunks.
   *
   * @throws {ContradictionError} The parts contain a call of one of our tools that the chunks do not contain, or the
   * other way round: a class may have changed what its provider sent.
   */
  check(isComplete: boolean): void {
    if (this.#mayExpand) return
    const calls = [...this.#calls.values()]
    const known = new Set(calls.map(({ id, name }) => pair(id, name)))
    for (const { toolCallId, toolName } of this.#whole) {
      if (!this.#names.has(toolName)) continue
      const id = idIn(toolCallId)
      const isKnown = this.#isExact ? id === undefined || known.has(pair(id, toolName)) : calls.length > 0
      if (!isKnown) throw contradiction(`the call of ${toolName} is not in the chunks of its response`)
    }
    if (!this.#isExact || !isComplete) return
    for (const { id, name, isLate } of calls) {
      if (id !== undefined && name && this.#names.has(name) && !isLate && !this.#mentioned.has(id)) {
        throw contradiction(`the call of ${name} is only in the chunks of its response`)
      }
    }
  }

  #sealCalls(id: string | undefined, to: Assembler): void {
    for (const [{ label }, text] of this.#unsealed.get(id) ?? []) to.seal(label, text)
    this.#unsealed.delete(id)
  }
}

function idOf(part: CalledPart): string {
  return part.type === 'tool-call' ? part.toolCallId : part.id
}

function ownLabel(label: Label): Label {
  return `raw ${label}`
}

function pair(id: string | undefined, name: string | undefined): string {
  return JSON.stringify([id, name])
}

function contradiction(message: string): ContradictionError {
  return new ContradictionError(`${message}, as the model’s provider received them`)
}

/** LiteLLM's fields of a call. Packages for hosts that are compatible with OpenAI send them back in the call. */
function fieldsIn(metadata: CallPiece['metadata']): Pick<CallPiece, 'metadata'> {
  const own = metadata?.['']
  const fields = isRecord(own) ? own.provider_specific_fields : undefined
  const kept = fields ? ownMetadata({ openaiCompatible: { provider_specific_fields: fields } }) : undefined
  return kept ? { metadata: kept } : {}
}

/** Reads a response through the AI SDK from the raw chunks that its provider received, and from the parts. */

import type { Assembler, PartOptions, ReadChunk } from '@meanwhile/assemble'
import { isUnreadable, isWord } from './ai-sdk-errors.ts'
import type { Keeper } from './ai-sdk-kept.ts'
import type { StreamPart } from './ai-sdk-model.ts'
import { RawCalls } from './ai-sdk-raw-calls.ts'
import type { RawChunk, RawRequest, RawWire } from './ai-sdk-wires.ts'
import { errorIn } from './error-body.ts'
import { isUnknown } from './event-names.ts'
import { readSafely, StreamedError } from './explain.ts'
import { hasMembers, isRecord } from './is-record.ts'
import { OPAQUE } from './opaque-data.ts'
import { RestartedError } from './single-response.ts'

type ErrorPart = Extract<StreamPart, { type: 'error' }>
type FinishPart = Extract<StreamPart, { type: 'finish' }>

/**
 * Returns the same reader of parts. If chunks of this wire arrive as `raw` parts, they decide the calls, the end, the
 * errors and the token counts, as through the official clients. Text, reasoning, files and the calls that the provider
 * runs are read from the parts, which have the metadata that the package needs back; what a package did not read of a
 * chunk is read from the chunk.
 */
export function withChunks(
  read: ReadChunk<StreamPart>,
  wire: RawWire,
  request: RawRequest,
  kept: Keeper,
): ReadChunk<StreamPart> {
  const response = new ChunkedResponse(read, wire, request, kept)
  return (part, to) => {
    if (response.drops(part)) return
    if (part.type !== 'raw' && part.type !== 'error') response.refuse(to)
    switch (part.type) {
      case 'raw':
        return response.hold(part.rawValue, to)
      case 'error':
        return response.fail(part, to)
      case 'finish':
        return response.finish(part, to)
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'tool-call':
        response.settle(to)
        return response.calls.takes(part) ? response.calls.mark(part, to) : read(part, to)
      case 'text-delta':
      case 'reasoning-delta':
        response.hasSpoken ||= !!part.delta
        return read(part, to)
      default:
        return read(part, to)
    }
  }
}

class ChunkedResponse {
  readonly calls: RawCalls
  /** Whether a part of the latest chunk has text. */
  hasSpoken = false
  readonly #read: ReadChunk<StreamPart>
  readonly #readChunk: ReadChunk<RawChunk>
  readonly #isSecond: (chunk: RawChunk) => boolean
  readonly #wire: RawWire
  readonly #kept: Keeper
  readonly #delaysText: boolean
  /** The latest chunk. Its calls follow its text, so it is read after the parts of the text. */
  #held: RawChunk | undefined
  /** The error of a package that could not read a chunk. It counts unless a chunk of the wire follows. */
  #doubtful: ErrorPart | undefined
  /** Whether the package could read all chunks. */
  #isComplete = true
  #hasUsage = false
  #hasEnded = false
  /** Whether the last chunk of the wire has been read. */
  #hasStopped = false
  /** Whether a chunk has come that is not part of the response. */
  #isOver = false
  /** Which text of the chunk that is read is not in the parts. */
  #isUnsaid: (delta: string) => boolean = never
  /** The readers keep the assembler that they get first. */
  #own: Assembler | undefined

  constructor(read: ReadChunk<StreamPart>, wire: RawWire, request: RawRequest, kept: Keeper) {
    this.#read = read
    this.#wire = wire
    this.#kept = kept
    this.#readChunk = readSafely(wire.reader(request))
    this.#isSecond = wire.restarts()
    this.#delaysText = wire.delaysText(request)
    this.calls = new RawCalls(wire.isExact, request)
  }

  /** Whether the part follows the end (qT16). On Chat the package reports the calls as whole only when all has come. */
  drops(part: StreamPart): boolean {
    if (!this.#isOver || part.type === 'finish') return false
    return this.#hasStopped || part.type !== 'tool-call' || !this.calls.knows(part)
  }

  /** Reports the error of a package that no chunk followed. */
  refuse(to: Assembler): void {
    if (this.#doubtful) this.#read(this.#doubtful, to)
  }

  /** A chunk arrives. */
  hold(value: unknown, to: Assembler): void {
    this.settle(to)
    if (this.#hasStopped) this.#isOver = true
    if (this.#isOver || !isRecord(value)) return
    if (this.#wire.isOwn(value)) {
      // If the first response has ended, it counts.
      if (this.#isSecond(value)) {
        if (!this.#hasEnded) throw new RestartedError()
        this.#isOver = true
        return
      }
      this.calls.areRead = true
      // The response goes on.
      this.#doubtful = undefined
    }
    this.#held = value
    this.hasSpoken = false
    if (!this.calls.areRead || !this.#wire.isLast(value)) return
    this.#hasStopped = true
    this.calls.areEnding = true
    // No package reads output in the end of a response.
    this.settle(to)
  }

  /** Reads the chunk that was held, after its text. `isMissed`: whether the package could not read it. */
  settle(to: Assembler, isMissed = false): void {
    const chunk = this.#held
    this.#held = undefined
    if (!chunk || !this.calls.areRead) return
    const error = errorOf(chunk)
    if (error) throw error
    this.#own ??= this.#assembler(to)
    this.#isUnsaid = isMissed ? always : this.hasSpoken || this.#delaysText ? never : isSpoken
    this.#readChunk(chunk, this.#own)
  }

  /** The package reports an error, which may only be that it cannot read the chunk. */
  fail(part: ErrorPart, to: Assembler): void {
    const chunk = this.#held
    if (chunk && isUnreadable(part.error)) this.#miss(chunk, part, to)
    else if (isWord(part.error)) this.#doubtful ??= part
    else {
      this.settle(to)
      this.#read(part, to)
    }
  }

  finish(part: FinishPart, to: Assembler): void {
    const error = this.#held && errorOf(this.#held)
    if (error) throw error
    this.settle(to)
    if (this.calls.areRead) this.calls.check(this.#isComplete)
    this.#read(part, this.calls.areRead ? withoutEnd(to, this.#hasUsage) : to)
  }

  /** The package could not read the chunk. */
  #miss(chunk: RawChunk, part: ErrorPart, to: Assembler): void {
    this.#isComplete = false
    const error = errorOf(chunk)
    // If it has only words, it is an error unless something follows: hosts also report their state in such events.
    const isState = error !== undefined && errorIn(chunk, true) === undefined
    if (error && !isState) throw error
    if (this.calls.areRead && !isState) this.settle(to, true)
    else {
      this.#held = undefined
      this.#doubtful ??= part
    }
  }

  /** Takes what the chunks decide, and text that is not in the parts, without labels: those of the parts may be equal. */
  #assembler(to: Assembler): Assembler {
    const { calls } = this
    return {
      text: (delta) => void (this.#isUnsaid(delta) && to.text(delta)),
      reasoning: (delta, options) => {
        if (this.#isUnsaid(delta)) to.reasoning(delta)
        this.#keep(options, to)
      },
      usage: (usage) => {
        this.#hasUsage ||= hasMembers(usage)
        to.usage(usage)
      },
      response: (info) => to.response(info),
      finish: (reason) => {
        this.#hasEnded = true
        calls.sealAll(to)
        to.finish(reason)
      },
      isWhole: (label) => calls.isWhole(label, to),
      call: (label, piece) => calls.call(label, piece, to),
      seal: (label, text) => calls.seal(label, text),
    }
  }

  /** Keeps data that no package reads, and that some send back (qC59). */
  #keep(options: PartOptions | undefined, to: Assembler): void {
    const data = options?.metadata?.['']
    if (!isRecord(data) || !OPAQUE.some((name) => name in data)) return
    const metadata = this.#kept.keepOpaque(data)
    if (metadata) to.reasoning('', { label: 'opaque', metadata })
  }
}

function never(): boolean {
  return false
}

function always(): boolean {
  return true
}

/** All packages read white space that a model sends; the readers add some between paragraphs. */
function isSpoken(delta: string): boolean {
  return delta.trim() !== ''
}

/** An assembler for the last part, if the chunks have decided the end and, with `hasUsage`, the token counts. */
function withoutEnd(to: Assembler, hasUsage: boolean): Assembler {
  return {
    text: (delta, options) => to.text(delta, options),
    reasoning: (delta, options) => to.reasoning(delta, options),
    call: (label, piece) => to.call(label, piece),
    seal: (label, text) => to.seal(label, text),
    isWhole: (label) => to.isWhole(label),
    usage: (usage) => (hasUsage ? undefined : to.usage(usage)),
    response() {},
    finish() {},
  }
}

/** The error that the provider sent as this chunk, if it is one. */
function errorOf(chunk: RawChunk): StreamedError | undefined {
  const { type } = chunk
  const error = errorIn(chunk, typeof type === 'string' && isUnknown(type))
  if (type === 'error') return new StreamedError(error ?? chunk)
  return error === undefined ? undefined : new StreamedError(error)
}

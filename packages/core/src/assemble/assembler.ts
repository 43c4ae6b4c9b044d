/** The interface through which a wire describes a response, piece by piece. */

import type { FinishReason, ProviderMetadata, ResponseInfo, Usage } from '../vocabulary/message.ts'
import type { ModelRequest } from '../vocabulary/model.ts'

/** The part of a request that the assembler reads; from its tools only names and `needs`. */
export type AssembledRequest = Pick<ModelRequest, 'takenIds' | 'inputLimits'> & Partial<Pick<ModelRequest, 'tools'>>

/** Identifies a call or a part of one response: an index, an item id, a block number. */
export type Label = string | number

/**
 * Receives the description of a response from a wire, piece by piece, and makes the events and the message from it.
 *
 * No work is repeated: a delta costs O(its length), text is joined once, arguments are parsed at most twice, and each needed member is
 * decoded once more when it is complete.
 */
export interface Assembler {
  /**
   * A piece of the answer. Pieces with one label make one part. A piece without a label continues the latest part if that is text, and
   * otherwise begins a new part. An empty piece begins no part unless it has metadata.
   */
  text(delta: string, options?: PartOptions): void
  /** Adds a piece of the model's reasoning; parts work as in {@link text}. */
  reasoning(delta: string, options?: PartOptions): void
  /**
   * Data of the call with this label: its id, its name, a piece of its arguments. Absent, null and empty fields change nothing. The first
   * id that is not empty counts, and so does the first such name without `nameMayGrow`. The call begins with the first mention of its
   * label.
   */
  call(label: Label, piece: CallPiece): void
  /**
   * The provider states that this call is finished; later arguments are ignored. `text`: the complete arguments, if the wire repeats them.
   * Unless it is empty, it replaces what came before.
   */
  seal(label: Label, text?: string): void
  /** Whether all arguments of this call have arrived. What follows can only repeat them, or belongs to another call. */
  isWhole(label: Label): boolean
  /** Token counts; a later value replaces an earlier one. */
  usage(usage: Usage): void
  response(info: ResponseInfo): void
  /**
   * The protocol's own end of the response, with its reason. Chunks may still follow (usage, late metadata). A response whose chunks end
   * without it is truncated.
   */
  finish(reason: FinishReason): void
}

export interface PartOptions {
  readonly label?: Label
  /** Merged into the part's metadata, for each provider. */
  readonly metadata?: ProviderMetadata
}

export interface CallPiece {
  readonly id?: string | null | undefined
  /** The complete name as far as it has arrived. */
  readonly name?: string | null | undefined
  /** This name may still grow. The call waits for a name without this flag, or for the end of the call or its response. */
  readonly nameMayGrow?: boolean
  readonly delta?: string | null | undefined
  readonly metadata?: ProviderMetadata
  /** The provider runs this call itself, and this is its result; `null` while there is none. */
  readonly providerResult?: unknown
  /**
   * This call may be replaced by others: it is not shown before its seal. This function then receives the parsed input and returns the
   * other calls, or `undefined` for an ordinary call. Pass it together with the name.
   */
  readonly expand?: ((input: unknown) => readonly NestedCall[] | undefined) | undefined
}

/** A call that another one contained. */
export interface NestedCall {
  readonly name: string
  readonly input: unknown
}

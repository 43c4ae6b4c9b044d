/** What a wire says of a response, piece by piece. */

import type { FinishReason, ProviderMetadata, ResponseInfo, Usage } from '../vocabulary/message.ts'
import type { ModelRequest } from '../vocabulary/model.ts'

/** What of a request the assembler reads; of its tools their names and `needs`. */
export type AssembledRequest = Pick<ModelRequest, 'takenIds' | 'inputLimits'> & Partial<Pick<ModelRequest, 'tools'>>

/** What tells two calls, or two parts, of one response apart: an index, an item id, a block number. */
export type Label = string | number

/**
 * What a wire says of the response, piece by piece. The assembler makes the events and the message of it.
 *
 * Nothing is done twice: a delta costs O(its length), text is joined once, arguments are parsed at most twice, and a member
 * that its tool needs is decoded once besides, when it is complete.
 */
export interface Assembler {
  /**
   * A piece of the answer. Pieces with one label make one part; without a label a piece continues the latest part if that is
   * text, and begins a new part if it is not. An empty piece begins no part unless it brings metadata.
   */
  text(delta: string, options?: PartOptions): void
  /** A piece of the model's reasoning; parts as in {@link text}. */
  reasoning(delta: string, options?: PartOptions): void
  /**
   * Something about the call with this label: its id, its name, a piece of its arguments. Absent, null and empty fields say
   * nothing. The first id that is not empty stands, and so does the first such name without `nameMayGrow`. The call begins with the
   * first mention of its label.
   */
  call(label: Label, piece: CallPiece): void
  /**
   * The provider states that this call is finished; what it says of its arguments after that says nothing. `text`: the whole
   * arguments, where the wire repeats them: unless it is empty, it decides.
   */
  seal(label: Label, text?: string): void
  /** Whether all arguments of this call have come. What follows can only repeat them, or belong to another call. */
  isWhole(label: Label): boolean
  /** Token counts; a later figure replaces an earlier one. */
  usage(usage: Usage): void
  response(info: ResponseInfo): void
  /**
   * The protocol's own end of the response, with its reason. Chunks may still follow (usage, late metadata). A response
   * whose chunks end without it is truncated.
   */
  finish(reason: FinishReason): void
}

export interface PartOptions {
  readonly label?: Label
  /** Merged, per provider, into the part's metadata. */
  readonly metadata?: ProviderMetadata
}

export interface CallPiece {
  readonly id?: string | null | undefined
  /** The whole name, as far as it has come. */
  readonly name?: string | null | undefined
  /**
   * This name may yet become a longer one. The call is not shown and does not start until a name without this is given, or until the
   * call or its response has ended.
   */
  readonly nameMayGrow?: boolean
  readonly delta?: string | null | undefined
  readonly metadata?: ProviderMetadata
  /** The provider runs this call itself, and this is its result; `null` as long as there is none. */
  readonly providerResult?: unknown
  /**
   * This call may stand for others: it is not shown before its seal, when it is asked, with the parsed input, which ones. With
   * none it is an ordinary call. To be given with the name.
   */
  readonly expand?: ((input: unknown) => readonly NestedCall[] | undefined) | undefined
}

/** A call that another one stood for. */
export interface NestedCall {
  readonly name: string
  readonly input: unknown
}

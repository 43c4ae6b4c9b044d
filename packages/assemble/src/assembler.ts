/** Defines the interface through which a wire describes a response, piece by piece. */

import type { FinishReason, ModelRequest, ProviderMetadata, ResponseInfo, Usage } from '@meanwhile/core'

/** The part of a request that the assembler reads. It reads only the name and `needs` of each tool. */
export type AssembledRequest = Pick<ModelRequest, 'takenIds' | 'inputLimits'> & Partial<Pick<ModelRequest, 'tools'>>

/** Identifies a call or a part of one response: an index, an item id, a block number. */
export type Label = string | number

/**
 * Receives the description of a response from a wire, piece by piece, and makes the events and the message from it.
 *
 * Its cost is linear in the response: text is joined once, arguments are parsed at most twice, and each needed member is decoded once more when it is
 * complete.
 */
export interface Assembler {
  /**
   * Adds a piece of the answer. Pieces with the same label make one part. A piece without a label continues the latest part if that is text, and
   * otherwise begins a new part. An empty piece begins a part only if it has metadata.
   */
  text(delta: string, options?: PartOptions): void
  /** Adds a piece of the model's reasoning; parts work as in {@link text}. */
  reasoning(delta: string, options?: PartOptions): void
  /**
   * Adds data of the call with this label: its id, its name, a piece of its arguments. Absent, null and empty fields change nothing. The first
   * non-empty id counts, and the first non-empty name without `nameMayGrow`. The call begins with the first mention of its label.
   */
  call(label: Label, piece: CallPiece): void
  /**
   * Records that the provider has finished this call; later arguments are ignored. `text`: the complete arguments, if the wire repeats them. Unless
   * it is empty, it replaces the arguments so far.
   */
  seal(label: Label, text?: string): void
  /** Whether all arguments of this call have arrived. Later pieces can only repeat them, or belong to another call. */
  isWhole(label: Label): boolean
  /** Sets token counts; a later value replaces an earlier one. */
  usage(usage: Usage): void
  response(info: ResponseInfo): void
  /**
   * Records the terminal event of the protocol, with its reason. Chunks may still follow (usage, late metadata). If they end without such an event,
   * the response is truncated. If an error is given in place of a reason, it fails with that error then, retryably, unless a later call replaces it.
   */
  finish(reason: FinishReason | { readonly code: string; readonly message: string }): void
}

/** What a reader of a response knows about a piece of text or reasoning. */
export interface PartOptions {
  /** Identifies the part. Pieces with the same label are joined. */
  readonly label?: Label
  /** Merged into the part's metadata, for each provider. */
  readonly metadata?: ProviderMetadata
}

/** A piece of a tool call, as a reader of a response passes it on. */
export interface CallPiece {
  /** The provider's id of the call, if this piece has it. */
  readonly id?: string | null | undefined
  /** The whole name so far, not only its next piece. */
  readonly name?: string | null | undefined
  /** This name may still grow. The call waits for a name without this flag, or for the end of the call or its response. */
  readonly nameMayGrow?: boolean
  /** The next piece of the arguments. */
  readonly delta?: string | null | undefined
  /** Data of the provider, that it gets back unchanged. */
  readonly metadata?: ProviderMetadata
  /** Set if the provider runs this call itself: its result, or `null` before it has one. */
  readonly providerResult?: unknown
  /**
   * Set if other calls may replace this call. The call is then not shown before its seal. The function receives the parsed input and returns the
   * calls that replace this one, or `undefined` for an ordinary call. Pass it together with the name.
   */
  readonly expand?: ((input: unknown) => readonly NestedCall[] | undefined) | undefined
}

/** A call that replaces the call that contained it. */
export interface NestedCall {
  /** The name of the tool. */
  readonly name: string
  /** The parsed arguments. */
  readonly input: unknown
}

/** A Responses event or a Chat Completions chunk: the members that are read of what the SDK's models pass on unchanged. */
export interface RawEvent {
  readonly type?: string
  readonly output_index?: number
  readonly delta?: string
  readonly item?: {
    readonly type: string
    readonly call_id: string
    readonly name: string
    readonly namespace?: string
    readonly arguments?: string
    readonly caller?: { readonly type?: string }
  }
  readonly choices?: readonly {
    readonly index: number
    readonly finish_reason?: string | null
    readonly delta?: { readonly role?: string; readonly tool_calls?: readonly RawCall[] }
  }[]
}

export interface RawCall {
  readonly index: number
  readonly id?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

/** The options of `run.callTool`. */

import type { Effect } from './effect.ts'
import type { ToolCall } from './message.ts'
import type { ModelRequest } from './model.ts'
import type { ResourceKeys } from './resource-keys.ts'
import type { Attributes } from './span-content.ts'
import type { ToolStatus } from './tool-status.ts'

export type SideRequest = Pick<ModelRequest, 'messages'> &
  Partial<
    Pick<ModelRequest, 'model' | 'instructions' | 'tools' | 'toolChoice' | 'settings' | 'clientRetries' | 'signal'>
  >

export interface CallOptions {
  /**
   * What a provisional call may do, at the most, before its model call has stood. If the input that its tool gets in the
   * end, after `prepareInput` and all wraps, does more, the tool waits until then. It holds for each call that this call makes, too,
   * and, if its effect is `calls`, for the calls of an agent that it runs. Default: no limit.
   */
  readonly ceiling?: Effect
  /** The resource keys it may name, at the most, by then: the same holds for them. */
  readonly keys?: ResourceKeys
  /**
   * The call's input is no more than the members its tool needs, and this is the call with its whole input. It starts
   * at once, or when the input is whole: if somebody round it may judge or change inputs, an earlier attempt's call may
   * turn out to be the same, or the members may be wrong. If the whole does not agree with it, it is discarded, and the
   * call to be made anew.
   */
  readonly rest?: Promise<ToolCall>
  /** Put on the call's span. */
  readonly attributes?: Attributes
  /**
   * Called when this makes the call, not where it is joined to an earlier one: `status` says at any time how that is doing,
   * for as long as somebody keeps it. Must not throw.
   */
  readonly started?: (status: () => ToolStatus) => void
}

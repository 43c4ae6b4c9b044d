/** The options of `run.callTool` and `run.callModel`. */

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
   * The strongest effect that a provisional call may have before its model call has succeeded. If the final input, after `prepareInput` and all
   * wraps, has a stronger effect, the call waits until then. The limit also applies to each call that this call makes and, if its effect is `calls`,
   * to the calls of an agent that it runs. Default: no limit.
   */
  readonly ceiling?: Effect
  /** The only resource keys that the call may use before then. The same rules apply. */
  readonly keys?: ResourceKeys
  /**
   * Set if the input of this call contains only the members that its tool `needs`: the call with its whole input. The call starts immediately, or
   * when the input is complete: if a wrap may check or change inputs, if the call may be equal to one of an earlier attempt, or if the members may be
   * wrong. If the whole input does not match the members, the call is discarded and must be made again.
   */
  readonly rest?: Promise<ToolCall>
  /** Set on the call's span. */
  readonly attributes?: Attributes
  /** Called when this makes the call, but not when it joins an earlier call. `status` returns the status of the call at any time. Must not throw. */
  readonly started?: (status: () => ToolStatus) => void
}

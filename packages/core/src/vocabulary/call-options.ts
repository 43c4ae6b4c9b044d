/** The options of `run.callTool` and `run.callModel`. */

import type { Effect } from './effect.ts'
import type { ToolCall } from './message.ts'
import type { ModelRequest } from './model.ts'
import type { ResourceKeys } from './resource-keys.ts'
import type { Attributes } from './span-content.ts'
import type { ToolStatus } from './tool-status.ts'

/** The request of `run.callModel`. Defaults: the model of the run, no instructions, no tools, and the agent's settings. */
export type SideRequest = Pick<ModelRequest, 'messages'> &
  Partial<
    Pick<ModelRequest, 'model' | 'instructions' | 'tools' | 'toolChoice' | 'settings' | 'clientRetries' | 'signal'>
  >

/** The options of `run.callTool`. */
export interface CallOptions {
  /**
   * The strongest effect that a provisional call may have before its model call has succeeded. The effect of the final input counts, after
   * `prepareInput` and all wraps: if it is stronger, the call waits until the model call has succeeded. The limit also applies to each call that this
   * call makes and, if its effect is `calls`, to the calls of an agent that it runs. Default: no limit.
   */
  readonly ceiling?: Effect
  /** The only resource keys that the call may use before its model call has succeeded. Does not apply to the calls that it makes. */
  readonly keys?: ResourceKeys
  /**
   * Whether the call may run before its model call has succeeded, if its tool gets this input: what the schema returned, after `prepareInput` and all
   * wraps; `undefined` if it starts with only the members that its tool `needs`. `written` is the input as the model wrote it. If it returns `false`,
   * the call waits. Must not throw. Does not apply to the calls that it makes. Default: any input.
   */
  readonly allow?: (input: unknown, written: unknown) => boolean
  /**
   * For a call whose input contains only the members that its tool `needs`: resolves to the call with its whole input. The call starts immediately,
   * except in three cases, in which it waits for the whole input: a wrap may check or change inputs, an earlier attempt may have made an equal call,
   * or the members may be wrong. If the members are different in the whole input, the call is discarded and must be made again.
   */
  readonly rest?: Promise<ToolCall>
  /** Set on the call's span. */
  readonly attributes?: Attributes
  /** Called when this creates the call, not when it finds an earlier one. `status` returns the call's status at any time. Must not throw. */
  readonly started?: (status: () => ToolStatus) => void
}

/** A step of the agent's loop, as a model request and its tool calls show it. */

import type { HostRun } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { NodeConfig } from './library.ts'

export interface Step {
  readonly run: HostRun
  readonly calls: HostCalls
  /** Tools of which a call may need an approval. */
  readonly guarded: ReadonlySet<string>
  /** The config of the node that has called the model. */
  readonly node: NodeConfig
  /** That of the model request. */
  readonly signal: AbortSignal | undefined
  /** The id of the accepted message, and those of its calls. */
  answerId?: string | undefined
  callIds?: ReadonlySet<string | undefined>
  /** Whether a call of the accepted message may need an approval. */
  mayPause?: boolean
}

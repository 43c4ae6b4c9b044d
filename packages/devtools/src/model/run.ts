/** What the page draws: runs of steps, with the responses of the model and the calls of tools. Plain JSON; times are milliseconds since the epoch. */

export type RunState = 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted' | 'lost'

export type Fate = 'running' | 'committed' | 'failed' | 'discarded' | 'cancelled' | 'interrupted' | 'abandoned'

/** Which instrumentation made the spans. */
export type Dialect = 'meanwhile' | 'gen_ai' | 'ai-sdk' | 'ai-sdk-5' | 'openinference' | 'traceloop'

/** Numbers of tokens; absent if nothing told them. */
export interface Usage {
  readonly input?: number
  readonly output?: number
  /** Part of `input`. */
  readonly cacheRead?: number
  /** Part of `output`. */
  readonly reasoning?: number
}

/** One attempt of a model call. */
export interface Response {
  readonly spanId: string
  readonly attempt: number
  readonly start: number
  /** When the first token came. */
  readonly first?: number
  readonly end?: number
  readonly state: RunState
  readonly model?: string
  readonly usage: Usage
  readonly error?: string
  readonly text?: string
  readonly thinking?: string
}

/** A time in which a call waited: `slot` before it, `rest` inside it for the rest of its input, `commit` after it. */
export interface Wait {
  readonly kind: 'slot' | 'rest' | 'commit'
  readonly from: number
  readonly to: number
}

export interface Execution {
  readonly spanId: string
  readonly attempt: number
  readonly start: number
  readonly end?: number
  readonly error?: string
}

/** One call of a tool. */
export interface Call {
  /** Distinct in its run. */
  readonly key: string
  readonly id: string
  readonly tool: string
  readonly effect?: string
  readonly executions: readonly Execution[]
  readonly start: number
  readonly end?: number
  /** When its arguments were complete. */
  readonly closed?: number
  /** When its response was accepted, as far as this call tells it. */
  readonly stood?: number
  readonly waits: readonly Wait[]
  readonly early: boolean
  readonly evidence?: string
  readonly deferral?: string
  /** The tool behind whose call it waited. */
  readonly waitedFor?: string
  readonly fate: Fate
  readonly reason?: string
  readonly undone: boolean
  readonly input?: unknown
  readonly output?: unknown
  readonly error?: string
  /** The agents that it ran. */
  readonly inner: readonly Run[]
}

/** A call that a response asks for. */
export interface Request {
  readonly id: string
  readonly tool: string
  readonly input?: unknown
}

export interface Step {
  readonly index: number
  readonly responses: readonly Response[]
  readonly calls: readonly Call[]
  /** The calls that have not run because the run waits for an answer, if content was recorded. Absent if there are none. */
  readonly waiting?: readonly Request[]
}

export interface Run {
  /** Trace and span: `traceId-spanId`. */
  readonly key: string
  readonly dialect: Dialect
  readonly agent?: string
  readonly conversation?: string
  readonly model?: string
  readonly service: string
  readonly state: RunState
  readonly start: number
  readonly end?: number
  readonly title?: string
  /** The last text of the user. */
  readonly prompt?: string
  readonly error?: string
  readonly steps: readonly Step[]
  /** Agents inside that no call ran. */
  readonly inner: readonly Run[]
  readonly usage: Usage
  readonly calls: number
  readonly errors: number
  /** Whether it is a run of Meanwhile, or one of another library in which calls started early. */
  readonly early: boolean
  /** What early tools saved, in milliseconds, as the run itself measured it. */
  readonly saved?: number
  /** The same for each step. */
  readonly savedBySteps?: readonly number[]
  /** How many calls may run at the same time; absent: any number. */
  readonly slots?: number
  /** The key of the run that it continues. */
  readonly continues?: string
  /** Whether prompts, arguments or results were recorded. */
  readonly hasContent: boolean
  /** The number of spans that are not drawn, because their times are impossible. */
  readonly impossible: number
  /** Stands for a run whose own span is not here. */
  readonly synthetic: boolean
}

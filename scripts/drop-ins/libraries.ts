/** The libraries that we have a drop-in for: the folders and files of their checkouts, and which tests run. */

export type LibraryName = 'ai-sdk' | 'langchain' | 'openai-agents'

export interface TestedLibrary {
  /** The name of the drop-in: `@meanwhile/eager-tools/<name>`. */
  readonly name: LibraryName
  readonly repository: string
  readonly packageName: string
  /** The folder of the package in the checkout. */
  readonly folder: string
  /** Relative to the package's folder. */
  readonly config: string
  /** Test files, relative to the package's folder. Files that a checkout does not have are skipped and listed. */
  readonly files: readonly string[]
  /** Modules that tests import, and the exports that are replaced in them; relative to the package's folder. */
  readonly splices: Readonly<Record<string, readonly string[]>>
  /** The imports of the drop-in from the library, by specifier, and their files; relative to the package's folder. */
  readonly imports: Readonly<Record<string, string>>
}

const aiSdk: TestedLibrary = {
  name: 'ai-sdk',
  repository: 'vercel/ai',
  packageName: 'ai',
  folder: 'packages/ai',
  config: 'vitest.node.config.js',
  files: [
    ...[
      'stream-text',
      'generate-text',
      'execute-tools-from-stream',
      'execute-tool-call',
      'invoke-tool-callbacks-from-stream',
      'stream-text-retry',
      'stream-text-timeout',
      'stream-text-onfinish-abort',
      'stream-text-steering',
      'resolve-tool-approval',
      'tool-approval-follow-up',
      'tool-call-concurrency',
      'tool-input-refinement',
      'validate-tool-context',
      'stream-text-with-minimal-retention',
    ].map((name) => `src/generate-text/${name}.test.ts`),
    'src/agent/tool-loop-agent.test.ts',
  ],
  splices: {
    'src/generate-text/stream-text.ts': ['streamText'],
    'src/generate-text/generate-text.ts': ['generateText'],
    'src/agent/tool-loop-agent.ts': ['ToolLoopAgent'],
  },
  imports: { ai: 'src/index.ts' },
}

const langchain: TestedLibrary = {
  name: 'langchain',
  repository: 'langchain-ai/langchainjs',
  packageName: 'langchain',
  folder: 'libs/langchain',
  config: 'vitest.config.ts',
  files: [
    ...[
      'reactAgent',
      'middleware',
      'middleware.stream',
      'middlewareErrorHandling',
      'middlewareErrorWrapping',
      'bindTools',
      'modelSettings',
      'responses',
    ].map((name) => `src/agents/tests/${name}.test.ts`),
    ...['ToolNode', 'AgentNode'].map((name) => `src/agents/nodes/tests/${name}.test.ts`),
    ...[
      'hitl',
      'modelRetry',
      'modelFallback',
      'toolRetry',
      'toolError',
      'toolCallLimit',
      'toolEmulator',
      'dynamicTools',
      'llmToolSelector',
    ].map((name) => `src/agents/middleware/tests/${name}.test.ts`),
  ],
  splices: { 'src/agents/index.ts': ['createAgent'], 'src/index.ts': ['createAgent'] },
  imports: { langchain: 'src/index.ts' },
}

const openaiAgents: TestedLibrary = {
  name: 'openai-agents',
  repository: 'openai/openai-agents-js',
  packageName: '@openai/agents-core',
  folder: 'packages/agents-core',
  config: '../../vitest.config.ts',
  files: [
    'run',
    'run.stream',
    'runImplementation',
    'run.approvalGuardrailSession',
    'run.toolGuardrailState',
    'inputGuardrailResume',
    'hitlMemorySessionScenario',
    'agentScenarios',
    'agentToolStreaming',
    'handoffs',
    'runState',
    'retryPolicy',
    'modelTimeout',
    'mcpToFunctionTool',
    'runner/modelPreparation',
  ].map((name) => `test/${name}.test.ts`),
  splices: { 'src/run.ts': ['Runner', 'run'], 'src/index.ts': ['Runner', 'run'] },
  imports: {
    '@openai/agents': 'src/index.ts',
    // The target of the workspace's own alias: a module that also sends traces to OpenAI.
    '../agents/src/index.ts': 'src/index.ts',
    '@openai/agents-core': 'src/index.ts',
    '@openai/agents-core/utils/internal': 'src/utils/internal.ts',
  },
}

export const LIBRARIES: readonly TestedLibrary[] = [aiSdk, langchain, openaiAgents]

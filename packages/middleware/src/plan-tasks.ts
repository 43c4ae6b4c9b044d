/**
 * The middleware `planTasks()`: tools with which the model keeps a plan of tasks, each with a status and the tasks that
 * block it.
 */

import { checkOptions, type Middleware } from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { fileStore, runStore } from './plan-tasks/task-store.ts'
import { taskTools } from './plan-tasks/task-tools.ts'

export type { Task, TaskStatus } from './plan-tasks/task-list.ts'

/** The options of `planTasks`. */
export interface PlanTasksOptions {
  /** Stores the plan in a file that several runs share. Default: each run has its own plan, in its checkpoints. */
  readonly backend?: FileBackend
  /** The path in the backend. Default `tasks.json`. */
  readonly file?: string
}

/**
 * Adds `task_create`, `task_get`, `task_update` and `task_list`. Ids are increasing numbers that are never reused, even
 * by several runs with one backend. An impossible change (a cycle, a task that does not exist, starting a blocked task)
 * gets an error result and changes nothing. The plan is separate from the history, so summaries do not affect it.
 */
export function planTasks(options: PlanTasksOptions = {}): Middleware {
  checkOptions('planTasks', options, { backend: '', file: 'path' })
  const { backend, file = 'tasks.json' } = options
  if (backend) checkBackend(backend)
  const tools = taskTools(backend ? fileStore(backend, checkPath('file', file)) : runStore())
  return branded('middleware', {
    name: 'plan-tasks',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, ...tools] }),
  })
}

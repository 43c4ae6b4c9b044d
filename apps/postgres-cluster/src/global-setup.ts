/** Starts one server for all test files of a run. Tests of crashes start their own. */

import type { TestProject } from 'vitest/node'
import { NoPostgresError, startCluster } from './index.ts'
import type {} from './testing.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const cluster = await startCluster({ isLasting: false })
    project.provide('postgres', cluster.url)
    return cluster.close
  } catch (error) {
    if (!(error instanceof NoPostgresError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

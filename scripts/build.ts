// Builds all packages, in one process: it takes longer to start rolldown than to build one.
import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { build } from 'rolldown'
import { buildOf } from '../rolldown.config.ts'
import { output } from './packages/step.ts'

const folders = globSync('packages/*/package.json').map(dirname)
await build(folders.map(buildOf))
await output('node', ['packages/devtools/page/build.ts'])
await output('tsc', ['-b', ...folders.map((folder) => `${folder}/tsconfig.lib.json`)])

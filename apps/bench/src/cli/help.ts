/** The text of `--help` after the options. */

import { ALL_SCENARIOS, SCENARIOS } from '../scenarios.ts'

export function helpText(): string {
  const lines = ALL_SCENARIOS.map((id) => `  ${id.padEnd(5)} ${SCENARIOS[id].title}: ${SCENARIOS[id].shape}`)
  return `
Scenarios (d: all three of them)
${lines.join('\n')}

Examples
  npm run bench
  npm run bench -- --scenario f --wire anthropic --runs 5
  npm run bench -- --full --json full.json --report full.html
  npm run bench -- --scenario b,f --otlp
  npm run bench -- --scenario b,f --traces traces.json
  npm run bench -- --faults
  npm run bench -- --faults --loops
  npm run bench -- --overhead
  npm run bench -- --overhead --against ../older-checkout
  npm run bench -- --workload apps/bench/examples/support.workload.json
  npm run bench -- --record https://api.openai.com
  npm run bench -- --replay recording.json --tool search=400:read --tool refund=800:external
  npm run bench -- --base-url https://api.openai.com --model gpt-5.1 --key-env OPENAI_API_KEY --wire openai-chat
  npm run bench -- --peers ../my-app --scenario b,f
  npm run bench -- --drop-ins
  npm run bench -- --drop-ins --runs 1 --scenario f
  npm run bench -- --threads
  npm run bench -- --durable
  npm run bench -- --saves
  npm run bench -- server          what a turn costs a server: see npm run bench -- server --help

docs/bench.md describes the files, and how to read the results.`
}

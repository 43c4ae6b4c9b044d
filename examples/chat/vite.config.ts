import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['@meanwhile/source', ...defaultClientConditions] },
  build: { chunkSizeWarningLimit: 1_000 },
})

import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  resolve: {
    conditions: ['@meanwhile/source', ...defaultClientConditions],
    // The page's own packages take the React of the examples.
    dedupe: ['react', 'react-dom'],
  },
  build: { chunkSizeWarningLimit: 1_000 },
})

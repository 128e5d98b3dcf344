// SPDX-License-Identifier: BSL-1.0
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json',
  '.png': 'image/png', '.woff2': 'font/woff2', '.cast': 'text/plain', '.wasm': 'application/wasm' }

/// Serves a folder on a free port of 127.0.0.1.
export function serve(folder) {
  const server = http.createServer((request, response) => {
    let file = path.join(folder, decodeURIComponent(new URL(request.url, 'http://x').pathname))
    if (file.endsWith('/')) file += 'index.html'
    // Browsers ask for this by themselves where a page names no icon.
    if (request.url === '/favicon.ico') return void response.writeHead(204).end()
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return void response.writeHead(404).end()
    response.writeHead(200, { 'Content-Type': types[path.extname(file)] ?? 'application/octet-stream' })
    fs.createReadStream(file).pipe(response)
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

// Node's http, telling what it reads: "listening on PORT", then a line of JSON a request.
const http = require('http');

const server = http.createServer((request, response) => {
  const body = [];
  request.on('data', (piece) => body.push(piece));
  request.on('end', () => {
    const headers = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      headers.push([request.rawHeaders[i], Buffer.from(request.rawHeaders[i + 1], 'latin1').toString('utf8')]);
    }
    console.log(JSON.stringify({method: request.method, target: request.url, headers,
      body: Buffer.concat(body).toString('base64')}));
    response.setHeader('Content-Length', '0');
    response.end();
  });
});
server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => console.log('listening on ' + server.address().port));
process.stdin.resume().on('end', () => process.exit());

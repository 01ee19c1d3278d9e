// Preloaded into a server from npm: it listens on loopback alone, and tells its port on standard output.
const net = require("node:net");

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.log(`port ${this.address().port}`));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, rest.find((part) => typeof part === "function"));
};

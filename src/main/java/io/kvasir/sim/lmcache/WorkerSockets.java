package io.kvasir.sim.lmcache;

import io.kvasir.sim.lmcache.RegisteredWorker.WorkerAddress;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMsg;
import zmq.ZError;

/**
 * A controller's sockets towards its workers: PULL for reports, a ROUTER for requests and another one for heartbeats.
 * One thread owns all three.
 */
final class WorkerSockets implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerSockets.class);
  private static final byte[] EMPTY = {};
  /** JeroMQ 0.6.0 now and then finds out only by this timeout that a connection has been made. */
  private static final int HANDSHAKE_MILLIS = 1000;

  private final KeyRegistry registry;
  private final ZMQ.Context context = ZMQ.context(1);
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Thread thread;
  private final ControllerAddress address;
  private final int heartbeatPort;
  private final String heartbeatUrl;

  /**
   * Binds and starts.
   *
   * @throws IOException when a port is taken
   */
  WorkerSockets(ControllerBinding binding, KeyRegistry registry) throws IOException {
    this.registry = registry;
    ZMQ.Socket pull = context.socket(SocketType.PULL);
    ZMQ.Socket reply = context.socket(SocketType.ROUTER);
    ZMQ.Socket heartbeat = context.socket(SocketType.ROUTER);
    try {
      address =
          new ControllerAddress(
              binding.reachableHost(),
              bind(pull, binding.host(), binding.pullPort()),
              bind(reply, binding.host(), binding.replyPort()));
      heartbeatPort = bind(heartbeat, binding.host(), binding.heartbeatPort());
      heartbeatUrl = binding.reachableHost() + ":" + heartbeatPort;
    } catch (IOException e) {
      pull.close();
      reply.close();
      heartbeat.close();
      context.term();
      throw e;
    }
    thread = Thread.ofPlatform().daemon().name("sim-lmcache-controller").start(() -> run(pull, reply, heartbeat));
  }

  ControllerAddress address() {
    return address;
  }

  int heartbeatPort() {
    return heartbeatPort;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      context.term(); // wakes the thread and waits until it has closed its sockets
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static int bind(ZMQ.Socket socket, String host, int port) throws IOException {
    socket.setLinger(0);
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    try {
      socket.bind("tcp://" + (host.equals("0.0.0.0") ? "*" : host) + ":" + (port == 0 ? "*" : Integer.toString(port)));
    } catch (ZMQException e) {
      throw new IOException("port " + port + ": " + e.getMessage(), e);
    }
    String bound = socket.getLastEndpoint();
    return Integer.parseInt(bound.substring(bound.lastIndexOf(':') + 1));
  }

  private void run(ZMQ.Socket pull, ZMQ.Socket reply, ZMQ.Socket heartbeat) {
    try (pull; reply; heartbeat; ZMQ.Poller poller = context.poller(3)) {
      poller.register(pull, ZMQ.Poller.POLLIN);
      poller.register(reply, ZMQ.Poller.POLLIN);
      poller.register(heartbeat, ZMQ.Poller.POLLIN);
      while (!closed.get() && poller.poll() >= 0) {
        if (poller.pollin(0)) {
          receive(pull);
        }
        if (poller.pollin(1)) {
          answer(reply);
        }
        if (poller.pollin(2)) {
          answer(heartbeat);
        }
      }
    } catch (ZMQException e) {
      if (e.getErrorCode() != ZError.ETERM) {
        LOG.error("The controller's sockets failed", e);
      }
    }
  }

  private void receive(ZMQ.Socket pull) {
    ZMsg parts = ZMsg.recvMsg(pull, ZMQ.DONTWAIT);
    if (parts == null) {
      return;
    }
    parts.forEach(part -> {
      try {
        apply(MessageCodec.decode(part.getData()));
      } catch (IOException e) {
        LOG.warn("A worker's message makes no sense: {}", e.getMessage());
      }
    });
  }

  private void apply(ControllerMessage message) {
    switch (message) {
      case ControllerMessage.Operations operations -> registry.apply(operations);
      case ControllerMessage.SyncBatch batch -> registry.applySyncBatch(batch);
      case ControllerMessage.SyncEnd end -> registry.endSync(end);
      case ControllerMessage.Register worker -> registry.register(workerAddress(worker));
      case ControllerMessage.Deregister worker -> registry.deregister(worker.instanceId(), worker.workerId());
      case ControllerMessage.Heartbeat _, ControllerMessage.SyncStart _, ControllerMessage.SyncQuery _,
          ControllerMessage.Registered _, ControllerMessage.Commands _,
          ControllerMessage.SyncStarted _, ControllerMessage.SyncStatus _, ControllerMessage.HealthCheck _,
          ControllerMessage.Health _, ControllerMessage.Failure _ ->
          LOG.warn("A worker reported what has to be a request: {}", message);
    }
  }

  private void answer(ZMQ.Socket router) {
    ZMsg request = ZMsg.recvMsg(router, ZMQ.DONTWAIT);
    if (request == null) {
      return;
    }
    byte[][] frames = request.stream().map(frame -> frame.getData()).toArray(byte[][]::new);
    if (frames.length < 3) {
      LOG.warn("A request of {} frames: expected an identity, an empty frame and a message", frames.length);
      return;
    }
    router.sendMore(frames[0]);
    router.sendMore(EMPTY);
    router.send(MessageCodec.encode(answer(frames[2])));
  }

  private ControllerMessage answer(byte[] request) {
    try {
      ControllerMessage message = MessageCodec.decode(request);
      return switch (message) {
        case ControllerMessage.Register worker -> {
          registry.register(workerAddress(worker));
          yield new ControllerMessage.Registered(Map.of("heartbeat_url", heartbeatUrl));
        }
        case ControllerMessage.Heartbeat worker ->
            new ControllerMessage.Commands(registry.heartbeat(workerAddress(worker)));
        case ControllerMessage.SyncStart start -> registry.startSync(start);
        case ControllerMessage.SyncQuery query -> registry.syncStatus(query);
        case ControllerMessage.Operations _, ControllerMessage.SyncBatch _, ControllerMessage.SyncEnd _,
            ControllerMessage.Deregister _, ControllerMessage.Registered _,
            ControllerMessage.Commands _, ControllerMessage.SyncStarted _, ControllerMessage.SyncStatus _,
            ControllerMessage.HealthCheck _, ControllerMessage.Health _,
            ControllerMessage.Failure _ ->
            new ControllerMessage.Failure("Unknown message type: " + message.getClass().getSimpleName());
      };
    } catch (IOException e) {
      return new ControllerMessage.Failure(String.valueOf(e.getMessage()));
    }
  }

  private static WorkerAddress workerAddress(ControllerMessage.Register worker) {
    return new WorkerAddress(worker.instanceId(), worker.workerId(), worker.ip(), worker.port(), worker.peerInitUrl());
  }

  private static WorkerAddress workerAddress(ControllerMessage.Heartbeat worker) {
    return new WorkerAddress(worker.instanceId(), worker.workerId(), worker.ip(), worker.port(), worker.peerInitUrl());
  }
}

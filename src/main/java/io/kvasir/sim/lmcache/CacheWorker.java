package io.kvasir.sim.lmcache;

import io.kvasir.sim.lmcache.ControllerMessage.Kind;
import io.kvasir.sim.lmcache.ControllerMessage.Operation;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMsg;
import zmq.ZError;

/**
 * Reports to an LMCache controller what an engine keeps in host memory, as LMCache's worker does: it registers, pushes
 * what is stored and evicted in small batches, sends heartbeats if configured, and reports all its chunks again when a
 * heartbeat's reply commands it. One thread owns the sockets; callers never wait for the controller, and changes that
 * find the queue full are lost until the next full report. Thread-safe.
 */
public final class CacheWorker implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CacheWorker.class);
  private static final byte[] EMPTY = {};
  private static final String LOCATION = "LocalCPUBackend";
  private static final int RANK = 0;
  private static final int QUEUE = 1 << 16;
  private static final int BATCH = 2000;
  private static final long BATCH_MILLIS = 10;
  private static final int ANSWER_MILLIS = 1000;
  private static final int STATUS_QUERIES = 100;
  /** JeroMQ 0.6.0 now and then finds out only by this timeout that a connection has been made. */
  private static final int HANDSHAKE_MILLIS = 1000;

  private final ControllerAddress controller;
  private final String instance;
  private final Duration heartbeat;
  private final ZMQ.Context context = ZMQ.context(1);
  private final Set<Long> admitted = ConcurrentHashMap.newKeySet();
  private final BlockingQueue<Operation> queue = new ArrayBlockingQueue<>(QUEUE);
  private final AtomicLong sequence = new AtomicLong();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Thread thread;

  /**
   * Starts; the controller may start later.
   *
   * @param instance the engine's id
   * @param heartbeat between two heartbeats; zero for none
   */
  public CacheWorker(ControllerAddress controller, String instance, Duration heartbeat) {
    this.controller = controller;
    this.instance = instance;
    this.heartbeat = heartbeat;
    this.thread = Thread.ofPlatform().daemon().name("sim-lmcache-" + instance).start(this::run);
  }

  /** A chunk is kept from now on. */
  public void admit(long name) {
    admitted.add(name);
    enqueue(Kind.ADMIT, name);
  }

  /** A chunk is kept no more. */
  public void evict(long name) {
    admitted.remove(name);
    enqueue(Kind.EVICT, name);
  }

  /** Stops without deregistering, as a process that is killed. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      context.term(); // waits until the thread has closed its sockets
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void enqueue(Kind what, long name) {
    if (!queue.offer(new Operation(what, name, sequence.getAndIncrement()))) {
      LOG.debug("Chunk {} of {} is lost to the controller: too much waits already", name, instance);
    }
  }

  private void run() {
    try (ControllerSession conversation = new ControllerSession()) {
      conversation.serve();
    } catch (ZMQException e) {
      if (e.getErrorCode() != ZError.ETERM && e.getErrorCode() != ZError.EINTR) {
        LOG.error("Nothing of {} is reported to the controller any more", instance, e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The sockets and the messages sent through them; used by the worker's thread. */
  private final class ControllerSession implements AutoCloseable {
    private final ZMQ.Socket pushSocket = connected(SocketType.PUSH, controller.pull());
    private final ZMQ.Socket replySocket = context.socket(SocketType.REP);
    private final int port;
    private ZMQ.Socket requestSocket = connected(SocketType.DEALER, controller.reply());
    private ZMQ.@Nullable Socket heartbeatSocket;

    ControllerSession() {
      replySocket.setLinger(0);
      port = replySocket.bindToRandomPort("tcp://*");
    }

    void serve() throws InterruptedException {
      String heartbeatUrl = register();
      boolean beating = !heartbeat.isZero() && heartbeatUrl != null;
      long nextBeat = System.nanoTime();
      while (!closed.get()) {
        pushChanges();
        answer();
        if (beating && System.nanoTime() - nextBeat >= 0) {
          heartbeat("tcp://" + heartbeatUrl);
          nextBeat = System.nanoTime() + heartbeat.toNanos();
        }
      }
    }

    @Override
    public void close() {
      pushSocket.close();
      replySocket.close();
      requestSocket.close();
      if (heartbeatSocket != null) {
        heartbeatSocket.close();
      }
    }

    /** Registers, as often as it takes; returns where heartbeats go, if anywhere. */
    private @Nullable String register() throws InterruptedException {
      while (!closed.get()) {
        ControllerMessage answer = request(new ControllerMessage.Register(instance, RANK, "127.0.0.1", port, null));
        if (answer instanceof ControllerMessage.Registered registered) {
          return registered.extraConfig().get("heartbeat_url");
        }
        if (answer != null) {
          LOG.warn("The controller does not register {}: {}", instance, answer);
          TimeUnit.MILLISECONDS.sleep(ANSWER_MILLIS);
        }
      }
      return null;
    }

    private void pushChanges() throws InterruptedException {
      Operation first = queue.poll(BATCH_MILLIS, TimeUnit.MILLISECONDS);
      if (first != null) {
        List<Operation> batch = new ArrayList<>();
        batch.add(first);
        queue.drainTo(batch, BATCH - 1);
        push(new ControllerMessage.Operations(instance, RANK, LOCATION, batch));
      }
    }

    private void heartbeat(String url) throws InterruptedException {
      if (heartbeatSocket == null) {
        heartbeatSocket = connected(SocketType.DEALER, url);
      }
      ControllerMessage answer =
          exchange(heartbeatSocket, new ControllerMessage.Heartbeat(instance, RANK, "127.0.0.1", port, null));
      if (answer == null) {
        heartbeatSocket.close();
        heartbeatSocket = null;
      } else if (answer instanceof ControllerMessage.Commands commands) {
        for (ControllerMessage.Command command : commands.commands()) {
          if (command.commandType().equals(ControllerMessage.Command.FULL_SYNC)) {
            LOG.info("The controller requests a full report of {}: {}", instance, command.reason());
            fullSync();
          }
        }
      }
    }

    /** What changes meanwhile waits in the queue; telling it after what it is in already does no harm. */
    private void fullSync() throws InterruptedException {
      List<Long> names = List.copyOf(admitted);
      int batches = Math.max(1, Math.ceilDiv(names.size(), BATCH));
      String id = instance + "_" + RANK + "_" + UUID.randomUUID().toString().substring(0, 8);
      ControllerMessage started =
          request(new ControllerMessage.SyncStart(instance, RANK, LOCATION, id, names.size(), batches));
      if (!(started instanceof ControllerMessage.SyncStarted start) || !start.accepted()) {
        LOG.warn("Not everything of {} is reported to the controller: {}", instance, started);
        return;
      }
      for (int batch = 0; batch < batches; batch++) {
        sendBatch(id, batch, names);
      }
      push(new ControllerMessage.SyncEnd(instance, RANK, LOCATION, id, names.size()));
      awaitSyncComplete(id, names);
    }

    private void awaitSyncComplete(String id, List<Long> names) throws InterruptedException {
      for (int query = 0; query < STATUS_QUERIES && !closed.get(); query++) {
        if (!(request(
            new ControllerMessage.SyncQuery(instance, RANK, id)) instanceof ControllerMessage.SyncStatus status)
            || status.isComplete()) {
          return;
        }
        TimeUnit.MILLISECONDS.sleep(BATCH_MILLIS);
        if (query % 10 == 9) {
          status.missingBatches().forEach(batch -> sendBatch(id, batch, names));
          push(new ControllerMessage.SyncEnd(instance, RANK, LOCATION, id, names.size()));
        }
      }
    }

    private void sendBatch(String id, int batch, List<Long> names) {
      List<Long> some = names.subList(batch * BATCH, Math.min((batch + 1) * BATCH, names.size()));
      push(new ControllerMessage.SyncBatch(instance, RANK, LOCATION, id, batch, some));
    }

    /** Answers the controller's health checks; it sends nothing else. */
    private void answer() {
      byte[] request = replySocket.recv(ZMQ.DONTWAIT);
      if (request == null) {
        return;
      }
      ControllerMessage answer;
      try {
        ControllerMessage message = MessageCodec.decode(request);
        answer =
            message instanceof ControllerMessage.HealthCheck
                ? new ControllerMessage.Health(0)
                : new ControllerMessage.Failure("Unknown message: " + message);
      } catch (IOException e) {
        answer = new ControllerMessage.Failure("Worker error: " + e.getMessage());
      }
      replySocket.send(MessageCodec.encode(answer));
    }

    private void push(ControllerMessage message) {
      if (!pushSocket.send(MessageCodec.encode(message), ZMQ.DONTWAIT)) {
        LOG.debug("A message of {} is lost to the controller: it does not read", instance);
      }
    }

    private @Nullable ControllerMessage request(ControllerMessage message) {
      ControllerMessage answer = exchange(requestSocket, message);
      if (answer == null) {
        requestSocket.close(); // an answer that comes later must not be taken for the next
        requestSocket = connected(SocketType.DEALER, controller.reply());
      }
      return answer;
    }

    private @Nullable ControllerMessage exchange(ZMQ.Socket dealer, ControllerMessage message) {
      dealer.sendMore(EMPTY);
      dealer.send(MessageCodec.encode(message));
      ZMsg reply = ZMsg.recvMsg(dealer);
      if (reply == null) {
        return null;
      }
      try {
        return MessageCodec.decode(reply.getLast().getData());
      } catch (IOException e) {
        return new ControllerMessage.Failure(String.valueOf(e.getMessage()));
      }
    }

    private ZMQ.Socket connected(SocketType type, String address) {
      ZMQ.Socket socket = context.socket(type);
      socket.setLinger(0);
      socket.setReceiveTimeOut(ANSWER_MILLIS);
      socket.setSendTimeOut(ANSWER_MILLIS);
      socket.setHandshakeIvl(HANDSHAKE_MILLIS);
      socket.connect(address);
      return socket;
    }
  }
}

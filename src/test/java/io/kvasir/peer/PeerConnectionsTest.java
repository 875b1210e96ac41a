package io.kvasir.peer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.Await;
import io.kvasir.app.Certificates;
import io.kvasir.time.NanoClock;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peer connections over real sockets. */
@Isolated("looks for threads")
final class PeerConnectionsTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int MAX_LENGTH = PeerSettings.on("").maxLength();
  private static @Nullable SSLContext nodeContext;

  private final List<PeerConnections> open = new ArrayList<>();
  private final PeerConnections requesting = peers();

  @BeforeAll
  static void makeCertificate(@TempDir Path directory) throws Exception {
    nodeContext = context(directory);
  }

  @AfterEach
  void close() {
    open.forEach(PeerConnections::close);
  }

  @Test
  void request_isReplied() throws Exception {
    PeerAddress peer = serving("peer", request -> ("reply to " + text(request)).getBytes(UTF_8));
    assertThat(awaitReply(peer, "hello")).isEqualTo("reply to hello");
    assertThat(request(peer, "again")).isEqualTo("reply to again");
  }

  @Test
  void connect_makesOneConnection_beforeThereIsARequest() throws Exception {
    try (ServerSocket peer = new ServerSocket(0, 2, InetAddress.getLoopbackAddress())) {
      PeerAddress address = new PeerAddress("peer", "127.0.0.1", peer.getLocalPort());
      requesting.connect(address);
      requesting.connect(address);
      peer.setSoTimeout((int) TIMEOUT.toMillis());
      try (Socket _ = peer.accept()) {
        peer.setSoTimeout(200);
        assertThatThrownBy(peer::accept).isInstanceOf(SocketTimeoutException.class);
      }
    }
  }

  @Test
  void requests_manyAtOnce_getTheirOwnReplies() throws Exception {
    PeerAddress peer = serving("peer", request -> request);
    awaitReply(peer, "first");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<@Nullable String>> replies = new ArrayList<>();
      for (int i = 0; i < 2_000; i++) {
        String content = "content " + i + ".".repeat(i % 700);
        replies.add(threads.submit(() -> request(peer, content)));
      }
      for (int i = 0; i < replies.size(); i++) {
        assertThat(replies.get(i).get()).isEqualTo("content " + i + ".".repeat(i % 700));
      }
    }
  }

  @Test
  void request_thatTheHandlerDeclinesOrFails_hasNoReply() throws Exception {
    PeerAddress peer = serving("peer", request -> switch (text(request)) {
      case "pass" -> null;
      case "fail" -> throw new IllegalStateException("as the test has it");
      default -> request;
    });
    awaitReply(peer, "first");
    assertThat(request(peer, "pass")).isNull();
    assertThat(request(peer, "fail")).isNull();
    assertThat(request(peer, "then")).isEqualTo("then");
  }

  @Test
  void request_toAPeerThatCloses_failsAndThenThereIsNoConnection() throws Exception {
    CountDownLatch received = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    PeerConnections peers = peers();
    peers.serve("peer", request -> {
      if (text(request).equals("stay")) {
        received.countDown();
        awaitQuietly(end);
      }
      return request;
    });
    PeerAddress peer = new PeerAddress("peer", "127.0.0.1", peers.port());
    awaitReply(peer, "first");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<@Nullable String> waiting = threads.submit(() -> request(peer, "stay"));
      received.await();
      peers.close();
      assertThatThrownBy(waiting::get).hasCauseInstanceOf(IOException.class);
      end.countDown();
    }
    awaitNoConnection(peer);
  }

  @Test
  void request_thatTakesLong_isLateAlone() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    PeerAddress peer = serving("peer", request -> {
      if (text(request).equals("wait")) {
        awaitQuietly(end);
      }
      return request;
    });
    awaitReply(peer, "first");
    CompletableFuture<byte @Nullable []> waiting = requireConnection(peer, "wait", TIMEOUT);
    // As long as a peer may stand still on a busy machine: its connection is given up after twice that.
    assertThatThrownBy(() -> reply(peer, "wait".getBytes(UTF_8), Duration.ofSeconds(1)))
        .isInstanceOf(TimeoutException.class);
    for (int i = 0; i < 1_000; i++) {
      assertThat(request(peer, "request " + i)).as("on the same connection").isEqualTo("request " + i);
    }
    assertThat(waiting).isNotDone();
    end.countDown();
    assertThat(waiting.join()).isEqualTo("wait".getBytes(UTF_8));
  }

  /** An idle node is not woken up by its open connections; the next slow handler is noticed all the same. */
  @Test
  void watchdog_isParkedWhileNoHandlerRuns() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    Set<Thread> before = watchdogs();
    PeerAddress peer = serving("peer", request -> {
      if (text(request).startsWith("wait")) {
        awaitQuietly(end);
      }
      return request;
    });
    awaitReply(peer, "first");
    Set<Thread> watchdogs = watchdogs();
    watchdogs.removeAll(before);
    assertThat(watchdogs).hasSize(1);
    Thread watchdog = watchdogs.iterator().next();
    Await.within(TIMEOUT, () -> watchdog.getState() == Thread.State.WAITING);
    CompletableFuture<byte @Nullable []> waiting = requireConnection(peer, "wait", TIMEOUT);
    assertThat(request(peer, "next")).isEqualTo("next");
    Await.within(TIMEOUT, () -> watchdog.getState() == Thread.State.WAITING);
    assertThat(waiting).isNotDone();
    CompletableFuture<byte @Nullable []> another = requireConnection(peer, "wait again", TIMEOUT);
    assertThat(request(peer, "last")).isEqualTo("last");
    end.countDown();
    assertThat(waiting.join()).isEqualTo("wait".getBytes(UTF_8));
    assertThat(another.join()).isEqualTo("wait again".getBytes(UTF_8));
  }

  /** Whatever the order in which handlers end, each request gets its own reply, and at once. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void requests_thatEndInAnyOrder_getTheirOwnReplies(long seed) throws Exception {
    Map<String, CountDownLatch> ends = new ConcurrentHashMap<>();
    PeerAddress peer = serving("peer", request -> {
      awaitQuietly(ends.computeIfAbsent(text(request), _ -> new CountDownLatch(1)));
      return request;
    });
    ends.put("first", new CountDownLatch(0));
    awaitReply(peer, "first");
    SplittableRandom random = new SplittableRandom(seed);
    List<Integer> order = new ArrayList<>(IntStream.range(0, 2 + random.nextInt(60)).boxed().toList());
    List<CompletableFuture<byte @Nullable []>> replies = new ArrayList<>();
    for (int i = 0; i < order.size(); i++) {
      ends.put("request " + i, new CountDownLatch(1));
      replies.add(requireConnection(peer, "request " + i, TIMEOUT));
    }
    Collections.shuffle(order, new Random(seed));
    for (int i : order) {
      assertThat(replies.get(i)).as("request %s", i).isNotDone();
      Objects.requireNonNull(ends.get("request " + i)).countDown();
      assertThat(replies.get(i).join()).isEqualTo(("request " + i).getBytes(UTF_8));
    }
  }

  @Test
  void requests_moreThanMayTakeLongAtOnce_areAllReplied() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch slow = new CountDownLatch(InboundConnection.MAX_SLOW_HANDLERS);
    PeerAddress peer = serving("peer", request -> {
      if (!text(request).equals("first")) {
        slow.countDown();
        awaitQuietly(end);
      }
      return request;
    });
    awaitReply(peer, "first");
    List<CompletableFuture<byte @Nullable []>> replies = new ArrayList<>();
    for (int i = 0; i < 3 * InboundConnection.MAX_SLOW_HANDLERS; i++) {
      replies.add(requireConnection(peer, "request " + i, TIMEOUT));
    }
    slow.await();
    end.countDown();
    for (int i = 0; i < replies.size(); i++) {
      assertThat(replies.get(i).join()).isEqualTo(("request " + i).getBytes(UTF_8));
    }
  }

  /** A connection on which nothing comes back, not even to a ping, is of no use any more. */
  @Test
  void connection_withoutAnyLife_isClosed() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress peer = new PeerAddress("mute", "127.0.0.1", mute.getLocalPort());
      assertThat(request(peer, "no connection yet")).isNull();
      try (Socket connected = mute.accept()) {
        connected.setSoTimeout((int) TIMEOUT.toMillis());
        DataInputStream in = new DataInputStream(connected.getInputStream());
        assertThat(FrameCodec.readHello(in)).isEqualTo("mute");
        new DataOutputStream(connected.getOutputStream()).writeInt(FrameCodec.WELCOME);
        CompletableFuture<byte @Nullable []> late = awaitConnection(peer, "anyone?", Duration.ofMillis(50));
        assertThat(FrameCodec.read(in, MAX_LENGTH).content()).isEqualTo("anyone?".getBytes(UTF_8));
        assertThatThrownBy(late::join).hasCauseInstanceOf(TimeoutException.class);
        assertThat(FrameCodec.read(in, MAX_LENGTH).content()).as("a ping").isEmpty();
        assertThat(in.read()).as("closed").isEqualTo(-1);
      }
    }
  }

  /** A reply to a ping is life enough, though the request is late. */
  @Test
  void connection_whosePeerRepliesToPings_staysOpen() throws Exception {
    try (ServerSocket slow = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress peer = new PeerAddress("slow", "127.0.0.1", slow.getLocalPort());
      assertThat(request(peer, "no connection yet")).isNull();
      try (Socket connected = slow.accept()) {
        connected.setSoTimeout((int) TIMEOUT.toMillis());
        DataInputStream in = new DataInputStream(connected.getInputStream());
        assertThat(FrameCodec.readHello(in)).isEqualTo("slow");
        DataOutputStream out = new DataOutputStream(connected.getOutputStream());
        out.writeInt(FrameCodec.WELCOME);
        CompletableFuture<byte @Nullable []> late = awaitConnection(peer, "late", Duration.ofMillis(50));
        FrameCodec.Frame request = FrameCodec.read(in, MAX_LENGTH);
        assertThatThrownBy(late::join).hasCauseInstanceOf(TimeoutException.class);
        FrameCodec.Frame ping = FrameCodec.read(in, MAX_LENGTH);
        assertThat(ping.content()).isEmpty();
        out.write(FrameCodec.encode(ping.id(), FrameCodec.NO_CONTENT));
        out.write(FrameCodec.encode(request.id(), request.content()));
        CompletableFuture<byte @Nullable []> next = requireConnection(peer, "next", TIMEOUT);
        FrameCodec.Frame second = FrameCodec.read(in, MAX_LENGTH);
        assertThat(second.content()).isEqualTo("next".getBytes(UTF_8));
        out.write(FrameCodec.encode(second.id(), "reply".getBytes(UTF_8)));
        assertThat(next.join()).as("the reply that came too late goes to nobody").isEqualTo("reply".getBytes(UTF_8));
      }
    }
  }

  /** A peer that reads nothing must not hold up the requesting thread for longer than the timeout. */
  @Test
  void request_toAPeerThatDoesNotRead_isLate() throws Exception {
    try (ServerSocket unread = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress peer = new PeerAddress("unread", "127.0.0.1", unread.getLocalPort());
      assertThat(request(peer, "no connection yet")).isNull();
      try (Socket connected = unread.accept()) {
        assertThat(FrameCodec.readHello(new DataInputStream(connected.getInputStream()))).isEqualTo("unread");
        new DataOutputStream(connected.getOutputStream()).writeInt(FrameCodec.WELCOME);
        byte[] more = new byte[MAX_LENGTH];
        assertThatThrownBy(
                () -> {
                  while (reply(peer, more, Duration.ofMillis(200)) == null) {
                    LockSupport.parkNanos(1_000_000);
                  }
                })
            .isInstanceOfAny(TimeoutException.class, IOException.class);
      }
    }
  }

  /** A port may have become another node's since it was published. */
  @Test
  void nodeOfAnotherName_getsNoRequest() throws Exception {
    PeerAddress peer = serving("peer", request -> request);
    PeerAddress mistaken = new PeerAddress("before", peer.host(), peer.port());
    assertThat(request(mistaken, "you?")).isNull();
    awaitReply(peer, "you!");
    assertThat(request(mistaken, "you?")).isNull();
  }

  @Test
  void connectionOfAnotherProtocol_isClosed() throws Exception {
    PeerAddress peer = serving("peer", request -> request);
    try (Socket other = new Socket(peer.host(), peer.port())) {
      other.setSoTimeout((int) TIMEOUT.toMillis());
      other.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(UTF_8));
      assertThat(other.getInputStream().read()).isEqualTo(-1);
    } catch (SocketTimeoutException kept) {
      throw new AssertionError("the connection was not closed", kept);
    }
  }

  /** Byte by byte, since nodes of other versions write them. */
  @Test
  void frames_areAsDocumented() throws Exception {
    PeerAddress peer = serving("peer", request -> text(request).equals("ab") ? "xyz".getBytes(UTF_8) : null);
    try (Socket socket = new Socket(peer.host(), peer.port())) {
      socket.setSoTimeout((int) TIMEOUT.toMillis());
      socket.getOutputStream().write(HexFormat.of().parseHex("4b564c310004" + "70656572"));
      assertThat(socket.getInputStream().readNBytes(4)).asHexString().isEqualTo("4B564F4B");
      socket.getOutputStream().write(HexFormat.of().parseHex("0000000a" + "0000000000000007" + "6162"));
      assertThat(socket.getInputStream().readNBytes(15)).asHexString()
          .isEqualTo("0000000B" + "0000000000000007" + "78797A");
      socket.getOutputStream().write(HexFormat.of().parseHex("00000009" + "0000000000000008" + "63"));
      assertThat(socket.getInputStream().readNBytes(12)).asHexString().isEqualTo("00000008" + "0000000000000008");
      socket.getOutputStream().write(HexFormat.of().parseHex("00000008" + "0000000000000009"));
      assertThat(socket.getInputStream().readNBytes(12)).as("reply to a ping").asHexString()
          .isEqualTo("00000008" + "0000000000000009");
      socket.getOutputStream().write(HexFormat.of().parseHex("7fffffff"));
      assertThat(socket.getInputStream().read()).as("after a frame that is too long").isEqualTo(-1);
    }
  }

  /**
   * Whoever closes a connection may be a timer's thread, so it must not wait for a peer that reads nothing; with TLS a
   * writer would otherwise be waited for.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void close_whileAWriterWaitsForThePeer_doesNotWait(boolean secure) throws Exception {
    SSLContext context = secure ? nodeContext : null;
    PeerConnections peers = peers(PeerSettings.on("127.0.0.1"), context, NanoClock.SYSTEM);
    try (ServerSocket unread = listener(context)) {
      PeerAddress peer = new PeerAddress("unread", "127.0.0.1", unread.getLocalPort());
      byte[] more = new byte[MAX_LENGTH];
      assertThat(peers.request(peer, more, TIMEOUT)).isNull();
      try (Socket connected = unread.accept()) {
        DataInputStream in = new DataInputStream(connected.getInputStream());
        assertThat(FrameCodec.readHello(in)).isEqualTo("unread");
        new DataOutputStream(connected.getOutputStream()).writeInt(FrameCodec.WELCOME);
        Thread writer = Thread.ofVirtual().start(() -> awaitRequest(peers, peer, more));
        assertThat(in.readInt()).as("the frame has begun").isGreaterThan(MAX_LENGTH);
        assertEnds(peers::close);
        assertThat(writer.join(TIMEOUT)).isTrue();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void close_whileAReplyIsNotRead_doesNotWait(boolean secure) throws Exception {
    SSLContext context = secure ? nodeContext : null;
    PeerConnections peers = peers(PeerSettings.on("127.0.0.1"), context, NanoClock.SYSTEM);
    peers.serve("peer", _ -> new byte[MAX_LENGTH]);
    try (Socket unread = context == null
        ? new Socket(InetAddress.getLoopbackAddress(), peers.port())
        : context.getSocketFactory().createSocket("127.0.0.1", peers.port())) {
      FrameCodec.writeHello(new DataOutputStream(unread.getOutputStream()), "peer");
      DataInputStream in = new DataInputStream(unread.getInputStream());
      assertThat(in.readInt()).isEqualTo(FrameCodec.WELCOME);
      unread.getOutputStream().write(FrameCodec.encode(1, new byte[1]));
      assertThat(in.readInt()).as("the reply has begun").isGreaterThan(MAX_LENGTH);
      assertEnds(peers::close);
    }
  }

  /** Who has not shown that it is a peer takes little, and keeps no peer out. */
  @Test
  void connectionsThatSayNothing_giveWayToOthers() throws Exception {
    PeerConnections peers = peers(PeerSettings.on("127.0.0.1"), null, () -> 0);
    peers.serve("peer", request -> request);
    List<Socket> silent = new ArrayList<>();
    try {
      for (int i = 0; i < 3 * Handshakes.MAX; i++) {
        silent.add(new Socket(InetAddress.getLoopbackAddress(), peers.port()));
      }
      PeerAddress peer = new PeerAddress("peer", "127.0.0.1", peers.port());
      assertThat(awaitReply(peer, "hello")).isEqualTo("hello");
      for (int i = 0; i <= 2 * Handshakes.MAX; i++) {
        silent.get(i).setSoTimeout((int) TIMEOUT.toMillis());
        assertThat(silent.get(i).getInputStream().read()).as("connection %s", i).isEqualTo(-1);
      }
      Socket last = silent.getLast();
      FrameCodec.writeHello(new DataOutputStream(last.getOutputStream()), "peer");
      assertThat(new DataInputStream(last.getInputStream()).readInt()).isEqualTo(FrameCodec.WELCOME);
    } finally {
      for (Socket socket : silent) {
        socket.close();
      }
    }
  }

  /** A handshake has to end in time, however often something of it comes. */
  @Test
  void handshake_thatTakesLongInAll_isClosed() throws Exception {
    AtomicLong now = new AtomicLong();
    PeerConnections peers = peers(PeerSettings.on("127.0.0.1"), null, now::get);
    peers.serve("peer", request -> request);
    // Connections are accepted in their order: once the second is welcome, the first one's handshake has begun.
    try (Socket slow = new Socket(InetAddress.getLoopbackAddress(), peers.port());
        Socket accepted = new Socket(InetAddress.getLoopbackAddress(), peers.port())) {
      FrameCodec.writeHello(new DataOutputStream(accepted.getOutputStream()), "peer");
      assertThat(new DataInputStream(accepted.getInputStream()).readInt()).isEqualTo(FrameCodec.WELCOME);
      slow.setSoTimeout((int) TIMEOUT.toMillis());
      slow.getOutputStream().write(HexFormat.of().parseHex("4b564c310004" + "7065"));
      now.addAndGet(Handshakes.TIMEOUT.toNanos());
      assertThat(slow.getInputStream().read()).isEqualTo(-1);
      accepted.getOutputStream().write(FrameCodec.encode(1, new byte[1]));
      assertThat(FrameCodec.read(new DataInputStream(accepted.getInputStream()), 1).id()).isEqualTo(1);
    }
  }

  /** Memory is taken for what has come: a length alone costs the peer nothing. */
  @Test
  void frame_thatEndsEarly_isNoFrame() {
    byte[] announced = HexFormat.of().parseHex("7ffffff0" + "0000000000000001" + "61");
    assertThatThrownBy(
            () -> FrameCodec.read(new DataInputStream(new ByteArrayInputStream(announced)), Integer.MAX_VALUE))
        .isInstanceOf(EOFException.class);
  }

  @Test
  void requestAndReply_thatAreTooLong_areNotSent_andHarmNoOther() throws Exception {
    PeerAddress peer =
        serving("peer", request -> text(request).equals("long") ? new byte[MAX_LENGTH + 1] : request);
    awaitReply(peer, "first");
    assertThat(requesting.request(peer, new byte[MAX_LENGTH + 1], TIMEOUT)).isNull();
    assertThat(request(peer, "long")).isNull();
    assertThat(request(peer, "next")).isEqualTo("next");
  }

  @Test
  void serve_twice_isRefused() {
    PeerConnections peers = peers();
    peers.serve("peer", request -> request);
    assertThatThrownBy(() -> peers.serve("peer", request -> request)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void port_inFrontOfTheNode_isAdvertised() {
    assertThat(peers(new PeerSettings("127.0.0.1", 0, 7356, "", MAX_LENGTH)).port()).isEqualTo(7356);
  }

  @Test
  void request_comesFromTheAddressThatIsSet() throws Exception {
    PeerConnections peers = peers(new PeerSettings("127.0.0.1", 0, 0, "127.0.1.7", MAX_LENGTH));
    try (ServerSocket there = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress peer = new PeerAddress("peer", "127.0.0.1", there.getLocalPort());
      assertThat(peers.request(peer, new byte[1], TIMEOUT)).isNull();
      try (Socket connected = there.accept()) {
        assertThat(connected.getInetAddress().getHostAddress()).isEqualTo("127.0.1.7");
      }
    }
  }

  private PeerConnections peers() {
    return peers(PeerSettings.on("127.0.0.1"));
  }

  private PeerConnections peers(PeerSettings settings) {
    return peers(settings, null, NanoClock.SYSTEM);
  }

  private PeerConnections peers(PeerSettings settings, @Nullable SSLContext context, NanoClock clock) {
    try {
      PeerConnections peers = PeerConnections.bind(settings, context == null ? null : tls(context), clock);
      open.add(peers);
      return peers;
    } catch (IOException noPort) {
      throw new AssertionError(noPort);
    }
  }

  private PeerAddress serving(String node, RequestHandler handler) {
    PeerConnections peers = peers();
    peers.serve(node, handler);
    return new PeerAddress(node, "127.0.0.1", peers.port());
  }

  private @Nullable String request(PeerAddress peer, String content) throws IOException, TimeoutException {
    byte[] reply = reply(peer, content.getBytes(UTF_8), TIMEOUT);
    return reply == null ? null : text(reply);
  }

  private byte @Nullable [] reply(PeerAddress peer, byte[] content, Duration timeout)
      throws IOException, TimeoutException {
    CompletableFuture<byte @Nullable []> reply = requesting.request(peer, content, timeout);
    try {
      return reply == null ? null : reply.join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof TimeoutException late) {
        throw late;
      }
      throw (IOException) Objects.requireNonNull(failed.getCause());
    }
  }

  /** Sends a request until there is a connection. */
  private String awaitReply(PeerAddress peer, String content) throws IOException, TimeoutException {
    long begun = System.nanoTime();
    String reply = request(peer, content);
    while (reply == null) {
      assertThat(System.nanoTime() - begun).as("waited too long").isLessThan(TIMEOUT.toNanos());
      LockSupport.parkNanos(1_000_000);
      reply = request(peer, content);
    }
    return reply;
  }

  /** Sends a request on the connection that there is. */
  private CompletableFuture<byte @Nullable []> requireConnection(PeerAddress peer, String content, Duration timeout) {
    return Objects.requireNonNull(requesting.request(peer, content.getBytes(UTF_8), timeout), "no connection");
  }

  /** Sends a request as soon as there is a connection. */
  private CompletableFuture<byte @Nullable []> awaitConnection(PeerAddress peer, String content, Duration timeout) {
    AtomicReference<@Nullable CompletableFuture<byte @Nullable []>> sent = new AtomicReference<>();
    Await.within(
        TIMEOUT,
        () -> {
          sent.set(requesting.request(peer, content.getBytes(UTF_8), timeout));
          return sent.get() != null;
        });
    return Objects.requireNonNull(sent.get());
  }

  private void awaitNoConnection(PeerAddress peer) throws TimeoutException {
    long begun = System.nanoTime();
    boolean connected = true;
    while (connected) {
      assertThat(System.nanoTime() - begun).as("waited too long").isLessThan(TIMEOUT.toNanos());
      try {
        connected = request(peer, "still connected?") != null;
      } catch (IOException breaking) {
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  private static void awaitRequest(PeerConnections peers, PeerAddress peer, byte[] content) {
    while (peers.request(peer, content, TIMEOUT) == null) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static void assertEnds(Runnable action) throws InterruptedException {
    Thread running = Thread.ofPlatform().daemon().start(action);
    assertThat(running.join(TIMEOUT.dividedBy(4))).as("has ended").isTrue();
  }

  private static ServerSocket listener(@Nullable SSLContext context) throws IOException {
    return context == null
        ? new ServerSocket(0, 1, InetAddress.getLoopbackAddress())
        : context.getServerSocketFactory().createServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  private static PeerTls tls(SSLContext context) {
    return new PeerTls() {
      @Override
      public SSLContext context() {
        return context;
      }

      @Override
      public void verify(SSLSession session) {
        assertThat(session.isValid()).isTrue();
      }
    };
  }

  /** Of a node that trusts its own certificate. */
  private static SSLContext context(Path directory) throws Exception {
    Certificates made = new Certificates(directory).authority("node");
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(made.store(), Certificates.password());
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("node", made.store().getCertificate("node"));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  private static Set<Thread> watchdogs() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("kvasir-peer-watchdog"))
        .collect(Collectors.toSet());
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }
}

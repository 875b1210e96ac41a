package io.kvasir.peer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Lines over real sockets. */
final class PeerConnectionsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final List<PeerConnections> open = new ArrayList<>();
  private final PeerConnections asking = lines();

  @AfterEach
  void close() {
    open.forEach(PeerConnections::close);
  }

  @Test
  void ask_isAnswered() throws Exception {
    PeerAddress there = answering("there", asked -> ("you said " + text(asked)).getBytes(UTF_8));
    assertThat(awaitAnswer(there, "hello")).isEqualTo("you said hello");
    assertThat(ask(there, "again")).isEqualTo("you said again");
  }

  @Test
  void ask_manyAtOnce_eachGetsItsOwn() throws Exception {
    PeerAddress there = answering("there", asked -> asked);
    awaitAnswer(there, "first");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<@Nullable String>> answers = new ArrayList<>();
      for (int i = 0; i < 2_000; i++) {
        String question = "question " + i + ".".repeat(i % 700);
        answers.add(threads.submit(() -> ask(there, question)));
      }
      for (int i = 0; i < answers.size(); i++) {
        assertThat(answers.get(i).get()).isEqualTo("question " + i + ".".repeat(i % 700));
      }
    }
  }

  @Test
  void ask_whoPassesOrFails_isAskedAnotherWay() throws Exception {
    PeerAddress there = answering("there", asked -> switch (text(asked)) {
      case "pass" -> null;
      case "fail" -> throw new IllegalStateException("as the test wants");
      default -> asked;
    });
    awaitAnswer(there, "first");
    assertThat(ask(there, "pass")).isNull();
    assertThat(ask(there, "fail")).isNull();
    assertThat(ask(there, "then")).isEqualTo("then");
  }

  @Test
  void ask_whoHasGone_isAnIoFaultAndThenNoLine() throws Exception {
    CountDownLatch heard = new CountDownLatch(1);
    CountDownLatch gone = new CountDownLatch(1);
    PeerConnections lines = lines();
    lines.serve("there", asked -> {
      if (text(asked).equals("stay")) {
        heard.countDown();
        awaitQuietly(gone);
      }
      return asked;
    });
    PeerAddress there = new PeerAddress("there", "127.0.0.1", lines.port());
    awaitAnswer(there, "first");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<@Nullable String> waiting = threads.submit(() -> ask(there, "stay"));
      heard.await();
      lines.close();
      assertThatThrownBy(waiting::get).hasCauseInstanceOf(IOException.class);
      gone.countDown();
    }
    awaitNoLine(there);
  }

  @Test
  void ask_whoIsSilent_isLateAndTheLineIsMadeAnew() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    PeerAddress there = answering("there", asked -> {
      if (text(asked).equals("think")) {
        awaitQuietly(end);
      }
      return asked;
    });
    awaitAnswer(there, "first");
    assertThatThrownBy(() -> answer(there, "think".getBytes(UTF_8), Duration.ofMillis(50)))
        .isInstanceOf(TimeoutException.class);
    assertThat(awaitAnswer(there, "anew")).isEqualTo("anew");
    end.countDown();
  }

  /** One that takes nothing in must not keep who writes to it for longer than it is waited for. */
  @Test
  void ask_whoDoesNotRead_isLate() throws Exception {
    try (ServerSocket deaf = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress there = new PeerAddress("deaf", "127.0.0.1", deaf.getLocalPort());
      assertThat(ask(there, "no line yet")).isNull();
      try (Socket connected = deaf.accept()) {
        assertThat(FrameCodec.readHello(new DataInputStream(connected.getInputStream()))).isEqualTo("deaf");
        new DataOutputStream(connected.getOutputStream()).writeInt(FrameCodec.WELCOME);
        byte[] more = new byte[FrameCodec.MAX_LENGTH];
        assertThatThrownBy(
                () -> {
                  while (answer(there, more, Duration.ofMillis(200)) == null) {
                    LockSupport.parkNanos(1_000_000);
                  }
                })
            .isInstanceOfAny(TimeoutException.class, IOException.class);
      }
    }
  }

  /** A port may have become another's since it was told. */
  @Test
  void whoIsNotMeant_isNotAsked() throws Exception {
    PeerAddress there = answering("there", asked -> asked);
    PeerAddress mistaken = new PeerAddress("before", there.host(), there.port());
    assertThat(ask(mistaken, "you?")).isNull();
    awaitAnswer(there, "you!");
    assertThat(ask(mistaken, "you?")).isNull();
  }

  @Test
  void whoSpeaksOtherwise_isHungUpOn() throws Exception {
    PeerAddress there = answering("there", asked -> asked);
    try (Socket stranger = new Socket(there.host(), there.port())) {
      stranger.setSoTimeout((int) PATIENCE.toMillis());
      stranger.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(UTF_8));
      assertThat(stranger.getInputStream().read()).isEqualTo(-1);
    } catch (SocketTimeoutException kept) {
      throw new AssertionError("nobody hung up", kept);
    }
  }

  /** Byte by byte, since nodes of other versions speak so. */
  @Test
  void frames_areAsDescribed() throws Exception {
    PeerAddress there = answering("there", asked -> text(asked).equals("ab") ? "xyz".getBytes(UTF_8) : null);
    try (Socket socket = new Socket(there.host(), there.port())) {
      socket.setSoTimeout((int) PATIENCE.toMillis());
      socket.getOutputStream().write(HexFormat.of().parseHex("4b564c310005" + "7468657265"));
      assertThat(socket.getInputStream().readNBytes(4)).asHexString().isEqualTo("4B564F4B");
      socket.getOutputStream().write(HexFormat.of().parseHex("0000000a" + "0000000000000007" + "6162"));
      assertThat(socket.getInputStream().readNBytes(15)).asHexString()
          .isEqualTo("0000000B" + "0000000000000007" + "78797A");
      socket.getOutputStream().write(HexFormat.of().parseHex("00000009" + "0000000000000008" + "63"));
      assertThat(socket.getInputStream().readNBytes(12)).asHexString().isEqualTo("00000008" + "0000000000000008");
      socket.getOutputStream().write(HexFormat.of().parseHex("7fffffff"));
      assertThat(socket.getInputStream().read()).as("after a frame that is too long").isEqualTo(-1);
    }
  }

  @Test
  void answer_twice_isRefused() {
    PeerConnections lines = lines();
    lines.serve("there", asked -> asked);
    assertThatThrownBy(() -> lines.serve("there", asked -> asked)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void port_inFrontOfTheNode_isTheOneOthersAreTold() {
    assertThat(lines(new PeerSettings("127.0.0.1", 0, 7356, "")).port()).isEqualTo(7356);
  }

  @Test
  void ask_comesFromTheAddressThatIsSet() throws Exception {
    PeerConnections lines = lines(new PeerSettings("127.0.0.1", 0, 0, "127.0.1.7"));
    try (ServerSocket there = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PeerAddress to = new PeerAddress("there", "127.0.0.1", there.getLocalPort());
      assertThat(lines.request(to, new byte[1], PATIENCE)).isNull();
      try (Socket connected = there.accept()) {
        assertThat(connected.getInetAddress().getHostAddress()).isEqualTo("127.0.1.7");
      }
    }
  }

  private PeerConnections lines() {
    return lines(PeerSettings.on("127.0.0.1"));
  }

  private PeerConnections lines(PeerSettings settings) {
    try {
      PeerConnections lines = PeerConnections.bind(settings, null);
      open.add(lines);
      return lines;
    } catch (IOException noPort) {
      throw new AssertionError(noPort);
    }
  }

  private PeerAddress answering(String node, RequestHandler answerer) {
    PeerConnections lines = lines();
    lines.serve(node, answerer);
    return new PeerAddress(node, "127.0.0.1", lines.port());
  }

  private @Nullable String ask(PeerAddress to, String question) throws IOException, TimeoutException {
    byte[] answer = answer(to, question.getBytes(UTF_8), PATIENCE);
    return answer == null ? null : text(answer);
  }

  private byte @Nullable [] answer(PeerAddress to, byte[] question, Duration patience)
      throws IOException, TimeoutException {
    CompletableFuture<byte @Nullable []> answer = asking.request(to, question, patience);
    try {
      return answer == null ? null : answer.join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof TimeoutException late) {
        throw late;
      }
      throw (IOException) Objects.requireNonNull(failed.getCause());
    }
  }

  /** Asks until there is a line. */
  private String awaitAnswer(PeerAddress to, String question) throws IOException, TimeoutException {
    long begun = System.nanoTime();
    String answer = ask(to, question);
    while (answer == null) {
      assertThat(System.nanoTime() - begun).as("waited too long").isLessThan(PATIENCE.toNanos());
      LockSupport.parkNanos(1_000_000);
      answer = ask(to, question);
    }
    return answer;
  }

  private void awaitNoLine(PeerAddress to) throws TimeoutException {
    long begun = System.nanoTime();
    boolean line = true;
    while (line) {
      assertThat(System.nanoTime() - begun).as("waited too long").isLessThan(PATIENCE.toNanos());
      try {
        line = ask(to, "still there?") != null;
      } catch (IOException breaking) {
        LockSupport.parkNanos(1_000_000);
      }
    }
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

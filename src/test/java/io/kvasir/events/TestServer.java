package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.TestPrograms;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A real server in a child process, on a free port; killed at the latest when it is closed. */
public final class TestServer implements AutoCloseable {
  private final List<String> command;
  private final Path log;
  private final int port;
  private Process process;

  private TestServer(int port, List<String> command, Path log) throws IOException {
    this.port = port;
    this.command = command;
    this.log = log;
    this.process = start();
  }

  /** {@code nats-server} with JetStream, which keeps what it has in {@code directory}. */
  public static TestServer nats(Path directory) throws IOException {
    int port = Ports.free();
    return new TestServer(
        port,
        List.of(
            TestPrograms.path("nats-server"), "-a", "127.0.0.1", "-p", Integer.toString(port),
            "-js", "-sd", directory.toString()),
        directory.resolve("nats.log"));
  }

  /**
   * {@code redis-server}, which keeps what it has in {@code directory}, or keeps nothing on disk when {@code
   * forgetful}.
   */
  public static TestServer redis(Path directory, boolean forgetful) throws IOException {
    int port = Ports.free();
    return new TestServer(
        port,
        List.of(
            TestPrograms.path("redis-server"), "--bind", "127.0.0.1", "--port", Integer.toString(port), "--save", "",
            "--appendonly", forgetful ? "no" : "yes", "--appendfsync", "always", "--dir", directory.toString()),
        directory.resolve("redis.log"));
  }

  public int port() {
    return port;
  }

  /** Kills the process without a shutdown. */
  public void kill() {
    process.destroyForcibly();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Kills it and starts it again on the same port and directory. */
  public void restart() throws IOException {
    kill();
    process = start();
  }

  @Override
  public void close() {
    kill();
  }

  private Process start() throws IOException {
    Process started =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
    Await.await(command + " listens; see " + log, () -> {
      assertThat(started.isAlive()).as("%s runs; see %s", command, log).isTrue();
      return isListening();
    });
    return started;
  }

  private boolean isListening() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 200);
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }
}

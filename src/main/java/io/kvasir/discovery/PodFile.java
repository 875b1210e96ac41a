package io.kvasir.discovery;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.cell.Cells;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that lists pods, looked at again and again: asking is surer than being told, which network file systems and
 * mounted ConfigMaps do not do well. A file with a fault is refused whole and what was known stays; half a file is such
 * a one, for its list is not closed. Owns its thread.
 */
final class PodFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PodFile.class);
  private static final long MAX_BYTES = 16 << 20;

  private final Path file;
  private final PodsReader reader;
  private final Cells cells;
  private final SourceState state;
  private final Thread thread;
  private @Nullable Config read;
  private List<DiscoveredPod> pods = List.of();

  /** Begins to look. */
  PodFile(Path file, Duration interval, PodsReader reader, Cells cells, SourceState state) {
    this.file = file;
    this.reader = reader;
    this.cells = cells;
    this.state = state;
    this.thread = Thread.ofVirtual().name("kvasir-pod-file").start(() -> poll(interval));
  }

  @Override
  public void close() {
    thread.interrupt();
  }

  private void poll(Duration interval) {
    try {
      while (true) {
        try {
          poll();
        } catch (RuntimeException busy) {
          // The directory does not answer in time, as when the node is leaving: the next look tells it again.
          state.failed("the pods of " + file + " could not be declared: " + busy.getMessage());
        }
        Thread.sleep(interval);
      }
    } catch (InterruptedException closed) {
      LOG.debug("{} is not looked at any more", file);
    }
  }

  private void poll() {
    Config now;
    try {
      now = parse();
    } catch (IOException unreadable) {
      state.failed(file + " cannot be read (" + unreadable + "); the pods it had stay");
      return;
    } catch (ConfigException malformed) {
      state.rejected(List.of(file + " is malformed and refused; the pods it had stay: " + malformed.getMessage()));
      return;
    }
    if (!now.equals(read)) {
      List<String> faults = new ArrayList<>();
      List<DiscoveredPod> listed = now.hasPath("pods") ? reader.read(now, faults::add) : List.of();
      if (!now.hasPath("pods")) {
        faults.add(file + " has no list of pods: pods = [ ... ], or a list alone");
      }
      if (!faults.isEmpty()) {
        state.rejected(faults);
        return;
      }
      LOG.info("{} lists {} pods", file, listed.size());
      pods = listed;
      read = now;
    }
    state.accepted(pods.size(), cells.declare(PodSource.FILE, pods));
  }

  private Config parse() throws IOException {
    if (Files.size(file) > MAX_BYTES) {
      throw new IOException("it is larger than 16 MiB");
    }
    String text = Files.readString(file);
    ConfigParseOptions options = ConfigParseOptions.defaults().setAllowMissing(false);
    return text.stripLeading().startsWith("[")
        ? ConfigFactory.parseString("pods = " + text, options.setOriginDescription(file.toString()))
        : ConfigFactory.parseFile(file.toFile(), options).resolve();
  }
}

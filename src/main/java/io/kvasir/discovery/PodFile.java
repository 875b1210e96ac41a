package io.kvasir.discovery;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.Pods;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pod source of a file that lists pods. The file is polled: change notifications are unreliable on network file
 * systems and mounted ConfigMaps. A file with a fault is rejected whole and the known pods stay; so is a file that is
 * half written, because its list is not closed. Owns its thread.
 */
final class PodFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PodFile.class);
  private static final long MAX_BYTES = 16 << 20;

  private final Path file;
  private final PodsReader reader;
  private final Pods roster;
  private final SourceState state;
  private final Thread thread;
  private @Nullable Config accepted;
  private List<DiscoveredPod> pods = List.of();

  /** Starts polling. */
  PodFile(Path file, Duration interval, PodsReader reader, Pods roster, SourceState state) {
    this.file = file;
    this.reader = reader;
    this.roster = roster;
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
          // The directory does not answer in time, as when the node is leaving: the next poll declares them again.
          state.failed("the pods of " + file + " could not be declared: " + busy.getMessage());
        }
        Thread.sleep(interval);
      }
    } catch (InterruptedException closed) {
      LOG.debug("the poll of {} ends", file);
    }
  }

  private void poll() {
    Config content;
    try {
      content = parse();
    } catch (IOException unreadable) {
      state.failed(file + " " + why(unreadable) + "; the pods it had stay");
      return;
    } catch (ConfigException malformed) {
      state.rejected(List.of(file + " is malformed and rejected; the pods it had stay: " + malformed.getMessage()));
      return;
    }
    if (!content.equals(accepted)) {
      List<String> faults = new ArrayList<>();
      List<DiscoveredPod> listed = content.hasPath("pods") ? reader.read(content, faults::add) : List.of();
      if (!content.hasPath("pods")) {
        faults.add(file + " has no list of pods: pods = [ ... ], or a list alone");
      }
      if (!faults.isEmpty()) {
        state.rejected(faults);
        return;
      }
      LOG.info("{} lists {} pods", file, listed.size());
      pods = listed;
      accepted = content;
    }
    state.accepted(pods.size(), roster.declare(PodSource.FILE, pods));
  }

  private static String why(IOException unreadable) {
    return switch (unreadable) {
      case NoSuchFileException _ -> "does not exist";
      case AccessDeniedException _ -> "may not be read by the router's user";
      case CharacterCodingException _ -> "is not UTF-8";
      default -> "cannot be read (" + unreadable.getMessage() + ")";
    };
  }

  private Config parse() throws IOException {
    if (Files.size(file) > MAX_BYTES) {
      throw new IOException("the file is larger than 16 MiB");
    }
    String text = Files.readString(file);
    ConfigParseOptions options = ConfigParseOptions.defaults().setAllowMissing(false);
    return text.stripLeading().startsWith("[")
        ? ConfigFactory.parseString("pods = " + text, options.setOriginDescription(file.toString()))
        : ConfigFactory.parseFile(file.toFile(), options).resolve();
  }
}

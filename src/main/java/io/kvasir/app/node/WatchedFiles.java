package io.kvasir.app.node;

import io.kvasir.app.config.FileFingerprints;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files that are read again after a change, when they have stayed the same between two checks, so that a half-written
 * one is not read. Owns the thread that checks. The state of the files is for one thread at a time; its reader locks.
 */
final class WatchedFiles implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedFiles.class);

  private final String name;
  private FileFingerprints read;
  private FileFingerprints lastSeen;
  private @Nullable Thread watcher;

  /**
   * Files that nobody checks yet.
   *
   * @param name what they are, for the thread and for the log
   * @param read as they were before they were read
   */
  WatchedFiles(String name, FileFingerprints read) {
    this.name = name;
    this.read = read;
    this.lastSeen = read;
  }

  /**
   * Starts to check. Once.
   *
   * @param interval between checks, zero for none
   * @param check called at each; its failure does not end the checks
   */
  void watch(Duration interval, Runnable check) {
    if (!interval.isZero()) {
      watcher = Thread.ofVirtual().name("kvasir-files").start(() -> repeat(interval, check));
    }
  }

  /** Whether they have changed since they were read, and not since the last call. */
  boolean haveSettled() {
    FileFingerprints now = read.reread();
    if (now.equals(read)) {
      return false;
    }
    boolean settled = now.equals(lastSeen);
    lastSeen = now;
    return settled;
  }

  /**
   * Notes which files have been read, and how they looked before. Those that cannot be parsed are not read again before
   * they change.
   */
  void readAs(FileFingerprints fingerprints) {
    read = fingerprints;
    lastSeen = fingerprints;
  }

  @Override
  public void close() {
    if (watcher != null) {
      watcher.interrupt();
    }
  }

  private void repeat(Duration interval, Runnable check) {
    try {
      while (true) {
        Thread.sleep(interval);
        try {
          check.run();
        } catch (RuntimeException failed) {
          LOG.warn("{} could not be checked", name, failed);
        }
      }
    } catch (InterruptedException closed) {
      LOG.debug("the check of {} has ended", name);
    }
  }
}

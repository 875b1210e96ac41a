package io.kvasir.http;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The virtual thread of a request. It runs on the thread of the request's connection, which serves many, for as long as
 * that keeps up and it waits for nothing but bytes from the network: to hand a request over to other threads and back
 * again, twice, takes as much CPU time as much of what is done for it.
 *
 * <p>A virtual thread leaves the thread that carries it wherever it waits, so the connection's is never held up by a
 * wait. Where it goes on is decided each time: after a wait for the network on the connection's thread, after any other
 * (for a lock, its turn, another node) on the JVM's own threads for virtual ones. That is more than sparing the
 * connection. Who waits for a lock may hold another; if it could go on only where somebody waits for that one, both
 * would wait for ever. Who waits for the network holds none.
 *
 * <p>The JVM has no public way to say where a virtual thread runs. What it has is opened by {@value #OPENING}; without
 * that, or in a JVM that has it no more, all of them run on the JVM's own threads.
 */
public final class ConnectionThread {
  /** The option of the JVM that makes it possible. */
  public static final String OPENING = "--add-opens=java.base/java.lang=ALL-UNNAMED";

  /**
   * A request with a body of so many bytes at most is brief: it is read, rendered and decided on in some hundred
   * microseconds at most.
   */
  public static final int BRIEF_BYTES = 16 << 10;

  /** How the JVM makes virtual threads that others carry. */
  private record Carriers(MethodHandle builder, Executor own) {
    static @Nullable Carriers find() {
      try {
        Constructor<?> builder =
            Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder").getDeclaredConstructor(Executor.class);
        builder.setAccessible(true);
        Method own = Class.forName("java.lang.VirtualThread").getDeclaredMethod("defaultScheduler");
        own.setAccessible(true);
        return new Carriers(
            MethodHandles.lookup().unreflectConstructor(builder)
                .asType(MethodType.methodType(Thread.Builder.OfVirtual.class, Executor.class)),
            (Executor) own.invoke(null));
      } catch (ReflectiveOperationException | RuntimeException absent) {
        return null;
      }
    }

    Thread.Builder.OfVirtual on(Executor carrier) {
      try {
        return (Thread.Builder.OfVirtual) builder.invokeExact(carrier);
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }

  private static final @Nullable Carriers CARRIERS = Carriers.find();
  private static final ScopedValue<ConnectionThread> CURRENT = ScopedValue.newInstance();

  private final Executor connection;

  /** Whether it goes on on the connection's thread when it is woken. */
  private volatile boolean onConnection;

  /** Whether it does after a {@link #park}. */
  private boolean brief;

  /**
   * The thread of a request, not started.
   *
   * @param connection the thread of its connection
   */
  public ConnectionThread(Executor connection) {
    this.connection = connection;
  }

  /** Whether this JVM can have connections' threads carry others. */
  public static boolean isSupported() {
    return CARRIERS != null;
  }

  /**
   * Starts a virtual thread from a connection's, or from one that such a thread carries; from any other an ordinary
   * one.
   *
   * @param name the new thread's
   * @param brief whether the work between two waits takes so little that the connection may be kept waiting
   */
  public static void startOnCurrent(String name, Runnable work, boolean brief) {
    Executor current = currentConnection();
    if (current == null) {
      Thread.ofVirtual().name(name).start(work);
    } else {
      new ConnectionThread(current).start(name, work, brief);
    }
  }

  /**
   * Starts it.
   *
   * @param name the thread's
   * @param upToWait whether the work up to its first wait takes so little that the connection may be kept waiting; and
   *     between its {@link #park parkings}
   */
  public void start(String name, Runnable work, boolean upToWait) {
    Carriers carriers = CARRIERS;
    if (carriers == null) {
      Thread.ofVirtual().name(name).start(work);
      return;
    }
    brief = upToWait;
    onConnection = upToWait;
    carriers.on(continuation -> resume(continuation, carriers.own))
        .name(name)
        .start(() -> {
          onConnection = false;
          ScopedValue.where(CURRENT, this).run(work);
        });
  }

  /** Runs it until its next wait. Called by whoever wakes it; does not block. */
  private void resume(Runnable continuation, Executor own) {
    if (onConnection && !(connection instanceof CarrierThread carrier && carrier.isBusy())) {
      try {
        connection.execute(continuation);
        return;
      } catch (RejectedExecutionException ended) {
        // What it holds is given back all the same.
      }
    }
    own.execute(continuation);
  }

  /**
   * The thread of a connection that the caller runs on, itself or carried by it now and then; null when there is none.
   */
  public static @Nullable Executor currentConnection() {
    if (Thread.currentThread() instanceof CarrierThread own) {
      return own;
    }
    return CURRENT.isBound() ? CURRENT.get().connection : null;
  }

  /**
   * Waits for something that comes from the network. For its own thread, which must hold no lock but that of the
   * condition.
   *
   * @param upToWait whether the work up to its next wait takes so little that the connection may be kept waiting
   */
  @SuppressWarnings("WaitNotInLoop") // Every caller waits in a loop, each for something else.
  public void await(Condition come, boolean upToWait) throws InterruptedException {
    onConnection = upToWait;
    try {
      come.await();
    } finally {
      onConnection = false;
    }
  }

  /**
   * Parks the calling thread, whichever it is, until something that comes from the network wakes it, or something else.
   * It must hold no lock.
   *
   * @param blocker what it waits for
   */
  public static void park(Object blocker) {
    if (!CURRENT.isBound()) {
      LockSupport.park(blocker);
      return;
    }
    ConnectionThread current = CURRENT.get();
    current.onConnection = current.brief;
    try {
      LockSupport.park(blocker);
    } finally {
      current.onConnection = false;
    }
  }

  /**
   * Leaves the connection's thread until the next wait for the network, if the caller is on one: before what would hold
   * it up, as there are calls in which virtual threads keep the thread that carries them.
   */
  @SuppressWarnings("ThreadPriorityCheck") // Not for what others do, but for where it goes on.
  public static void leaveConnection() {
    if (CURRENT.isBound()) {
      // Whoever yields is woken at once, elsewhere.
      Thread.yield();
    }
  }

  /** The same, also after each {@link #park}: what was brief is so no more. */
  public static void leaveConnectionForGood() {
    if (CURRENT.isBound()) {
      CURRENT.get().brief = false;
      leaveConnection();
    }
  }
}

# Runs inside the sandbox: a screen, a window manager, Windows' desktop, WAA's server. Ends with the server's window.
Xvfb :0 -screen 0 1280x720x24 -nolisten tcp >/dev/null 2>&1 &
until [ -e /tmp/.X11-unix/X0 ]; do sleep 0.1; done
openbox >/dev/null 2>&1 &
wine explorer /desktop=Default,1280x720 >/dev/null 2>&1 &
for port in 5000 9222; do
    socat "UNIX-LISTEN:/sockets/$port,fork" "TCP:127.0.0.1:$port" 2>/dev/null &
done
wine wineconsole cmd /c 'C:\oem\start.bat'

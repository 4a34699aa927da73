;;; Applies commands of Org to files, for tests/test_rewrite_emacs.py.
;;; emacs --batch -Q -l judge.el JOBS RESULTS: JOBS is a Lisp list of jobs (FILE LINE COMMAND ARGUMENT...).
(setq load-no-native t                    ; compiled code that calls C directly would not see the clock below
      native-comp-enable-subr-trampolines nil
      make-backup-files nil auto-save-default nil create-lockfiles nil
      system-time-locale "C")
(require 'org) (require 'org-archive) (require 'org-refile)
(setq org-tags-column 0 org-auto-align-tags nil org-adapt-indentation nil
      org-id-track-globally nil org-element-use-cache (version<= "9.6" (org-version))
      org-inhibit-startup-visibility-stuff t)

(advice-add 'org-align-tags :override #'ignore)     ; some commands of older versions align whatever the setting says

(defvar judge-now nil "The time that it is.")
(dolist (fn '(format-time-string))
  (advice-add fn :filter-args (lambda (args) (if (nth 1 args) args (append (list (car args) judge-now) (nthcdr 2 args))))))
(dolist (fn '(float-time decode-time))
  (advice-add fn :filter-args (lambda (args) (if (car args) args (cons judge-now (cdr args))))))
(dolist (fn '(time-less-p time-subtract time-add))
  (advice-add fn :filter-args (lambda (args) (mapcar (lambda (a) (or a judge-now)) args))))
(dolist (fn '(current-time org-current-time org-current-effective-time))
  (advice-add fn :override (lambda (&rest _) judge-now)))
(advice-add 'org-today :override (lambda () (time-to-days judge-now)))
(advice-add 'y-or-n-p :override (lambda (&rest _) t))
(advice-add 'yes-or-no-p :override (lambda (&rest _) t))

(defun judge-log (note)
  "Write the log line that is due, as the end of a command does."
  (when (memq 'org-add-log-note post-command-hook)
    (remove-hook 'post-command-hook 'org-add-log-note)
    (if (memq org-log-note-how '(time state)) (org-add-log-note)
      (let ((org-log-note-how 'note)) (org-add-log-note))
      (insert note)
      (org-store-log-note))))

(defun judge-open (file)
  (let ((enable-local-variables nil) (large-file-warning-threshold nil))
    (find-file-noselect file)))

(defun judge-run (file line command &rest args)
  (with-current-buffer (judge-open file)
    (switch-to-buffer (current-buffer))
    (goto-char (point-min)) (forward-line (1- line))
    (setq org-log-setup nil)
    (pcase command
      ('retitle (org-edit-headline (car args)))
      ('todo (org-todo (or (car args) 'none)) (judge-log (or (nth 1 args) "")))
      ('done (org-todo 'done) (judge-log (or (nth 1 args) "")))
      ('schedule (org-schedule nil (car args)) (judge-log ""))
      ('deadline (org-deadline nil (car args)) (judge-log ""))
      ('unschedule (org-schedule '(4)))
      ('undeadline (org-deadline '(4)))
      ('tags (org-set-tags (append (car args) nil)))
      ('put (org-entry-put (point) (car args) (nth 1 args)))
      ('delete (org-entry-delete (point) (car args)))
      ('refile (let ((pos (with-current-buffer (judge-open (car args))
                            (save-excursion (goto-char (point-min)) (forward-line (1- (nth 1 args))) (point)))))
                 (org-refile nil nil (list "there" (expand-file-name (car args)) nil pos))
                 (judge-log "")))
      ('archive (org-archive-subtree))
      ('paste (let ((level (org-outline-level)))
                (org-end-of-subtree t t)
                (unless (bolp) (insert "\n"))
                (org-paste-subtree (1+ level) (car args))))
      ('check (org-toggle-checkbox))
      ('item (end-of-line) (org-insert-item t) (insert (car args)) (org-update-checkbox-count-maybe))
      (_ (error "No command %s" command)))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and buffer-file-name (buffer-modified-p)) (save-buffer))))))

(let* ((jobs (with-temp-buffer (insert-file-contents (nth 0 command-line-args-left)) (read (current-buffer))))
       (results (nth 1 command-line-args-left))
       (inhibit-message t) outcomes)
  (setq judge-now (apply #'encode-time (append (car jobs) nil)))
  (dolist (job (cdr jobs))
    (push (condition-case problem (progn (apply #'judge-run job) "") (error (error-message-string problem))) outcomes)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer (when buffer-file-name (set-buffer-modified-p nil) (kill-buffer buffer)))))
  (with-temp-file results (dolist (outcome (reverse outcomes)) (insert (prin1-to-string outcome) "\n")))
  (setq command-line-args-left nil))
